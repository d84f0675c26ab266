/** `checkStore()`, with which authors of a store test it. */
import { assertEquals, assertRejects } from "@std/assert";
import { unlessAborted } from "../../src/platform/abort.ts";
import {
  type CheckedLock,
  type CheckedRecord,
  type CheckedStore,
  checkStore,
  type StoreRule,
  StoreRuleError,
} from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { openSqlite, sqliteIn } from "../support/sqlite_store.ts";

/** What the stores of all programs share. */
class Place {
  record: CheckedRecord | undefined;
  holder: object | undefined;
  #released = Promise.resolve();

  async untilFree(signal?: AbortSignal): Promise<void> {
    while (this.holder) await unlessAborted(signal, this.#released);
  }

  /** Takes the lock even if another holder has it. The lock obeys all other rules. */
  take(): CheckedLock {
    const mine = this.holder = {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#released = promise;
    return {
      write: async (record) => {
        if (this.holder !== mine) throw new Error("the lock was lost");
        await Promise.resolve();
        this.record = record;
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.resolve();
        if (this.holder === mine) this.holder = undefined;
        resolve();
      },
    };
  }

  async lock(signal?: AbortSignal): Promise<CheckedLock> {
    while (this.holder) await unlessAborted(signal, this.#released);
    return this.take();
  }
}

/** Opens a store in memory that obeys all rules, except in the functions of a fault. */
function openIn(place: Place, fault: Partial<CheckedStore> = {}): CheckedStore {
  return {
    read: () => Promise.resolve(place.record),
    lock: (signal) => place.lock(signal),
    ...fault,
  };
}

/** A store whose lock differs in these functions. */
function lockedBy(place: Place, fault: (lock: CheckedLock) => Partial<CheckedLock>) {
  return {
    async lock(signal: AbortSignal) {
      const lock = await place.lock(signal);
      return { ...lock, ...fault(lock) };
    },
  };
}

/**
 * For each fault, the rule that it breaks, and the functions in which the store is different.
 * `end()` ends a check that waits for the store.
 */
const FAULTS: Readonly<
  Record<string, readonly [StoreRule, (place: Place, end: () => void) => Partial<CheckedStore>]>
> = {
  "returns a record before one was written": ["starts", (place) => ({
    read: () => Promise.resolve(place.record ?? {}),
  })],
  "drops unknown lines": ["keeps", (place) => ({
    read() {
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "", AUTH_SESSION = "" } = place.record ?? {};
      const isFull = Object.keys(place.record ?? {}).length > 0;
      return Promise.resolve(isFull ? { ACCESS_TOKEN, REFRESH_TOKEN, AUTH_SESSION } : place.record);
    },
  })],
  "removes the record if nothing is written": ["leaves", (place) =>
    lockedBy(place, (lock) => {
      let isWritten = false;
      return {
        write: (record, signal) => (isWritten = true, lock.write(record, signal)),
        async [Symbol.asyncDispose]() {
          if (!isWritten) place.record = undefined;
          await lock[Symbol.asyncDispose]();
        },
      };
    })],
  "removes an empty record": ["empties", (place) => ({
    read: () => Promise.resolve(Object.keys(place.record ?? {}).length ? place.record : undefined),
  })],
  "has no lock": ["excludes", (place) => ({ lock: () => Promise.resolve(place.take()) })],
  "has a separate lock for each program": ["excludes", (place) => {
    const own = new Place();
    return {
      async lock(signal) {
        return {
          ...await own.lock(signal),
          write: (record) => Promise.resolve(void (place.record = record)),
        };
      },
    };
  }],
  "releases the lock when its signal aborts": ["excludes", (place) => ({
    async lock(signal) {
      const lock = await place.lock(signal);
      signal.addEventListener("abort", () => lock[Symbol.asyncDispose]());
      return lock;
    },
  })],
  "makes a read wait for the lock": ["reads", (place, end) => ({
    async read(signal) {
      if (place.holder) end();
      await place.untilFree(signal);
      return place.record;
    },
  })],
  "does not stop waiting": ["aborts", (place, end) => ({
    lock(signal) {
      signal.addEventListener("abort", end);
      return place.lock();
    },
  })],
  "takes a lock for a caller that stopped waiting": ["aborts", (place, end) => ({
    async lock(signal) {
      const late = place.lock();
      // The next holder then waits until the check ends.
      late.then(() => signal.aborted && setTimeout(end, 10));
      return await unlessAborted(signal, late);
    },
  })],
  "keeps the lock after the release": ["releases", (place, end) => ({
    async lock(signal) {
      if (place.holder) end();
      return await lockedBy(place, () => ({
        [Symbol.asyncDispose]: () => Promise.resolve(),
      })).lock(signal);
    },
  })],
  "releases the lock of another holder": ["repeats", (place) =>
    lockedBy(place, () => ({
      [Symbol.asyncDispose]: () => Promise.resolve(void (place.holder = undefined)),
    }))],
  "stores a record although the write fails": ["fails", (place) =>
    lockedBy(place, (lock) => ({
      async write(record, signal) {
        await lock.write(record, signal);
        signal.throwIfAborted();
      },
    }))],
  "writes without the lock": ["loses", (place) =>
    lockedBy(place, () => ({
      write: (record) => Promise.resolve(void (place.record = record)),
    }))],
};

async function assertBreaks(rule: StoreRule, check: Promise<void>): Promise<void> {
  const error = await assertRejects(() => check, StoreRuleError);
  assertEquals(error.rule, rule);
}

for (const [name, [rule, fault]] of Object.entries(FAULTS)) {
  Deno.test(`checkStore() rejects a store that ${name}`, async () => {
    const end = new AbortController();
    const place = new Place();
    const open = () => openIn(place, fault(place, () => end.abort()));
    await assertBreaks(rule, checkStore(open, { signal: end.signal }));
  });
}

Deno.test("checkStore() accepts a store in memory and leaves an empty record", async () => {
  const place = new Place();
  await checkStore(() => openIn(place));
  assertEquals([place.record, place.holder], [{}, undefined]);
  await assertBreaks("starts", checkStore(() => openIn(place)));
});

Deno.test("checkStore() accepts the store in the documentation", () =>
  inFolder(async (folder) => {
    const file = sqliteIn(folder);
    await checkStore(() => openSqlite(file));
  }));

Deno.test("checkStore() passes on an error of the store and releases the lock", async () => {
  const place = new Place();
  const failure = new TypeError("no connection");
  const read = () => place.holder ? Promise.reject(failure) : Promise.resolve(place.record);
  assertEquals(await checkStore(() => openIn(place, { read })).catch((error) => error), failure);
  assertEquals(place.holder, undefined);
});
