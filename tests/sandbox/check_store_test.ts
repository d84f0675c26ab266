/** The check that authors of a store run: it accepts stores that obey the rules, and names broken ones. */
import { assertEquals, assertInstanceOf } from "@std/assert";
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

/** A store in memory that keeps all rules, and shows the parts that faults replace. */
class MemoryStore implements CheckedStore {
  record: CheckedRecord | undefined;
  #last: Promise<unknown> = Promise.resolve();

  read(): Promise<CheckedRecord | undefined> {
    return Promise.resolve(this.record);
  }

  update(change: Changing): Promise<void> {
    return this.inTurn(async () => {
      this.record = await change(this.record) ?? this.record;
    });
  }

  async inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    await mine;
  }
}

/** Stores that each break one rule. */
const FAULTS: Readonly<
  Record<string, readonly [StoreRule, (store: MemoryStore, end: () => void) => CheckedStore]>
> = {
  "has no lock": ["excludes", (store) => ({
    read: () => store.read(),
    update: async (change) => {
      store.record = await change(store.record) ?? store.record;
    },
  })],
  "keeps the lock after a rejection": ["releases", (store, end) => {
    let isStuck = false;
    return {
      read: () => store.read(),
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
  "stores after a rejection": ["discards", (store) => ({
    read: () => store.read(),
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
  "drops lines that it does not know": ["keeps", (store) => ({
    read() {
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "", AUTH_SESSION = "" } = store.record ?? {};
      return Promise.resolve({ ACCESS_TOKEN, REFRESH_TOKEN, AUTH_SESSION });
    },
    update: (change) => store.update(change),
  })],
  "removes the record for undefined": ["leaves", (store) => ({
    read: () => store.read(),
    update: (change) =>
      store.inTurn(async () => {
        store.record = await change(store.record);
      }),
  })],
  "does not pass the record": ["passes", (store) => ({
    read: () => store.read(),
    update: (change) => store.update(() => change()),
  })],
  "hides the error of its function": ["rejects", (store) => ({
    read: () => store.read(),
    update: (change) => store.update(change).catch(() => {}),
  })],
  "reads in turn": ["reads", (store, end) => {
    let updates = 0;
    return {
      async read() {
        // The fifth update reads.
        if (updates === 5) queueMicrotask(end);
        await store.inTurn(() => Promise.resolve());
        return store.record;
      },
      update: (change) => (updates++, store.update(change)),
    };
  }],
  "keeps a record without members from being stored": ["empties", (store) => ({
    read: () => store.read(),
    update: (change) =>
      store.update(async (now) => {
        const next = await change(now);
        const wasFull = Object.keys(now ?? {}).length > 4;
        return wasFull && Object.keys(next ?? {}).length === 0 ? undefined : next;
      }),
  })],
};

for (const [fault, [rule, make]] of Object.entries(FAULTS)) {
  Deno.test(`checkStore() finds a store that ${fault}`, async () => {
    const end = new AbortController();
    const store = make(new MemoryStore(), () => end.abort());
    const error = await checkStore(store, { signal: end.signal }).catch((error) => error);
    assertInstanceOf(error, StoreRuleError);
    assertEquals(error.rule, rule);
  });
}

Deno.test("checkStore() accepts a store in memory, and leaves its record as it was", async () => {
  for (const record of [{ ACCESS_TOKEN: "mine", OTHER: "line" }, undefined]) {
    const store = new MemoryStore();
    store.record = record;
    await checkStore(store);
    assertEquals(store.record, record ?? {});
  }
});

Deno.test("checkStore() accepts the store of the documents, opened by two programs", async () => {
  await inFolder(async (folder) => {
    const { inTable } = await documentedStore(folder);
    const [one, other] = [inTable(`${folder}/a.db`), inTable(`${folder}/a.db`)];
    await checkStore(one, { other });
    assertEquals(await one.read(), {});
  });
});

Deno.test("checkStore() finds two programs that do not share their lock", async () => {
  const [one, other] = [new MemoryStore(), new MemoryStore()];
  const shared = {
    read: () => one.read(),
    update: (change: Changing) =>
      other.inTurn(async () => {
        one.record = await change(one.record) ?? one.record;
      }),
  };
  const error = await checkStore(one, { other: shared }).catch((error) => error);
  assertInstanceOf(error, StoreRuleError);
  assertEquals(error.rule, "excludes");
});

Deno.test("checkStore() throws the store's own error, and restores the record after it", async () => {
  const store = new MemoryStore();
  store.record = { ACCESS_TOKEN: "mine" };
  const failure = new TypeError("no connection");
  let reads = 0;
  const failing = {
    read: () => ++reads === 3 ? Promise.reject(failure) : store.read(),
    update: (change: Changing) => store.update(change),
  };
  assertEquals(await checkStore(failing).catch((error) => error), failure);
  assertEquals(store.record, { ACCESS_TOKEN: "mine" });
});
