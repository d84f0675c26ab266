/** `checkStore()`, with which authors of a store test it. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  type CheckedRecord,
  type CheckedStore,
  checkStore,
  type StoreRule,
  StoreRuleError,
} from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { documentedStore } from "../support/sqlite_store.ts";

type Changing = Parameters<CheckedStore["update"]>[0];

/** A store in memory that obeys all rules. */
class MemoryStore implements CheckedStore {
  record: CheckedRecord | undefined;
  #last: Promise<unknown> = Promise.resolve();

  readonly read = (): Promise<CheckedRecord | undefined> => Promise.resolve(this.record);

  readonly update = (change: Changing): Promise<void> =>
    this.inTurn(async () => {
      this.record = await change(this.record) ?? this.record;
    });

  async inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    await mine;
  }
}

type Fault = (store: MemoryStore, end: () => void) => Partial<CheckedStore>;

/** For each rule, a store that breaks it, and the functions in which that store is different. */
const FAULTS: Readonly<Record<string, readonly [StoreRule, Fault]>> = {
  "has no lock": ["excludes", (store) => ({
    update: async (change) => {
      store.record = await change(store.record) ?? store.record;
    },
  })],
  "keeps the lock after a failed update": ["releases", (store, end) => {
    let isStuck = false;
    return {
      async update(change) {
        if (isStuck) {
          end();
          return await new Promise(() => {});
        }
        await store.update(change).catch((error) => {
          isStuck = true;
          throw error;
        });
      },
    };
  }],
  "stores a record after a failed update": ["discards", (store) => ({
    update: (change) =>
      store.inTurn(async () => {
        try {
          store.record = await change(store.record) ?? store.record;
        } catch (error) {
          store.record = {};
          throw error;
        }
      }),
  })],
  "drops unknown lines": ["keeps", (store) => ({
    read() {
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "", AUTH_SESSION = "" } = store.record ?? {};
      return Promise.resolve({ ACCESS_TOKEN, REFRESH_TOKEN, AUTH_SESSION });
    },
  })],
  "removes the record if an update returns undefined": ["leaves", (store) => ({
    update: (change) =>
      store.inTurn(async () => {
        store.record = await change(store.record);
      }),
  })],
  "does not pass the record to an update": ["passes", (store) => ({
    update: (change) => store.update(() => change()),
  })],
  "hides the error of an update": ["rejects", (store) => ({
    update: (change) => store.update(change).catch(() => {}),
  })],
  "makes a read wait for an update": ["reads", (store, end) => {
    let updates = 0;
    return {
      async read() {
        // The check of this rule reads during the fifth update.
        if (updates === 5) queueMicrotask(end);
        await store.inTurn(() => Promise.resolve());
        return store.record;
      },
      update: (change) => (updates++, store.update(change)),
    };
  }],
  "does not store an empty record": ["empties", (store) => ({
    update: (change) =>
      store.update(async (now) => {
        const next = await change(now);
        const wasFull = Object.keys(now ?? {}).length > 4;
        return wasFull && Object.keys(next ?? {}).length === 0 ? undefined : next;
      }),
  })],
};

async function assertBreaks(rule: StoreRule, check: Promise<void>): Promise<void> {
  const error = await assertRejects(() => check, StoreRuleError);
  assertEquals(error.rule, rule);
}

for (const [fault, [rule, make]] of Object.entries(FAULTS)) {
  Deno.test(`checkStore() rejects a store that ${fault}`, async () => {
    const end = new AbortController();
    const store = new MemoryStore();
    await assertBreaks(
      rule,
      checkStore({ ...store, ...make(store, () => end.abort()) }, { signal: end.signal }),
    );
  });
}

Deno.test("checkStore() accepts a store in memory and leaves its record unchanged", async () => {
  for (const record of [{ ACCESS_TOKEN: "mine", OTHER: "line" }, undefined]) {
    const store = new MemoryStore();
    store.record = record;
    await checkStore(store);
    assertEquals(store.record, record ?? {});
  }
});

Deno.test("checkStore() accepts the store in the documentation, opened by two programs", async () => {
  await inFolder(async (folder) => {
    const { inTable } = await documentedStore(folder);
    const [one, other] = [inTable(`${folder}/a.db`), inTable(`${folder}/a.db`)];
    await checkStore(one, { other });
    assertEquals(await one.read(), {});
  });
});

Deno.test("checkStore() rejects a store whose two programs do not share a lock", async () => {
  const [one, other] = [new MemoryStore(), new MemoryStore()];
  const shared = {
    read: one.read,
    update: (change: Changing) =>
      other.inTurn(async () => {
        one.record = await change(one.record) ?? one.record;
      }),
  };
  await assertBreaks("excludes", checkStore(one, { other: shared }));
});

Deno.test("checkStore() passes on an error of the store and restores the record", async () => {
  const store = new MemoryStore();
  store.record = { ACCESS_TOKEN: "mine" };
  const failure = new TypeError("no connection");
  let reads = 0;
  const failing = {
    read: () => ++reads === 3 ? Promise.reject(failure) : store.read(),
    update: store.update,
  };
  assertEquals(await checkStore(failing).catch((error) => error), failure);
  assertEquals(store.record, { ACCESS_TOKEN: "mine" });
});
