/** `checkStore()`, with which authors of a store test it. */
import { assertEquals, assertRejects } from "@std/assert";
import { unlessAborted } from "../../src/platform/abort.ts";
import {
  type CheckedLock,
  type CheckedStore,
  checkStore,
  type StoreRule,
  StoreRuleError,
} from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { openSqlite, sqliteIn } from "../support/sqlite_store.ts";
import { Table } from "../support/table.ts";

const never = new AbortController().signal;

/** The functions in which a store differs from a store in memory that obeys all rules. */
type Fault = (table: Table, end: () => void) => Partial<CheckedStore>;

function storeIn(table: Table, fault: Partial<CheckedStore> = {}): CheckedStore {
  return {
    read: () => Promise.resolve(table.record),
    lock: (signal) => table.lock(signal),
    ...fault,
  };
}

/** A store whose lock differs in these functions. */
function lockedBy(table: Table, fault: (lock: CheckedLock) => Partial<CheckedLock>) {
  return {
    async lock(signal: AbortSignal) {
      const lock = await table.lock(signal);
      return { ...lock, ...fault(lock) };
    },
  };
}

const setting = (table: Table): CheckedLock["write"] => (record) => {
  table.record = record;
  return Promise.resolve();
};
const nothing = () => Promise.resolve();

/** The rule that each fault breaks. `end()` ends a check that would wait for the store. */
const FAULTS: [what: string, rule: StoreRule, fault: Fault][] = [
  ["returns a record before one was written", "starts", (table) => ({
    read: () => Promise.resolve(table.record ?? {}),
  })],
  ["drops unknown lines", "keeps", (table) => ({
    read() {
      const { FUTURE_LINE: _, ...known } = table.record ?? {};
      return Promise.resolve(table.record && known);
    },
  })],
  ["removes the record if nothing is written", "leaves", (table) =>
    lockedBy(table, (lock) => {
      let isWritten = false;
      return {
        write: (record, signal) => (isWritten = true, lock.write(record, signal)),
        [Symbol.asyncDispose]: () => {
          if (!isWritten) table.record = undefined;
          return lock[Symbol.asyncDispose]();
        },
      };
    })],
  ["removes an empty record", "empties", (table) => ({
    read: () => Promise.resolve(Object.keys(table.record ?? {}).length ? table.record : undefined),
  })],
  ["has a separate lock for each program", "excludes", (table) => {
    const own = new Table();
    return { lock: async (signal) => ({ ...await own.lock(signal), write: setting(table) }) };
  }],
  ["makes a read wait for the lock", "reads", (table, end) => ({
    async read(signal) {
      const waiting = table.lock(signal);
      if (!await isGiven(waiting)) end();
      await using _lock = await waiting;
      return table.record;
    },
  })],
  ["does not stop waiting", "aborts", (table, end) => ({
    lock(signal) {
      signal.addEventListener("abort", end);
      return table.lock(never);
    },
  })],
  ["takes a lock for a caller that stopped waiting", "aborts", (table, end) => ({
    async lock(signal) {
      const late = table.lock(never);
      // The next holder then waits until the check ends.
      late.then(() => signal.aborted && setTimeout(end, 10));
      return await unlessAborted(signal, late);
    },
  })],
  ["keeps the lock after the release", "releases", (table, end) => ({
    async lock(signal) {
      const waiting = table.lock(signal);
      if (!await isGiven(waiting)) end();
      return { ...await waiting, [Symbol.asyncDispose]: nothing };
    },
  })],
  ["releases the lock of another holder", "repeats", (table) =>
    lockedBy(table, () => ({
      [Symbol.asyncDispose]: () => Promise.resolve(table.expire()),
    }))],
  ["stores a record although the write fails", "fails", (table) =>
    lockedBy(table, (lock) => ({
      async write(record, signal) {
        await lock.write(record, signal);
        signal.throwIfAborted();
      },
    }))],
  [
    "writes without the lock",
    "loses",
    (table) => lockedBy(table, () => ({ write: setting(table) })),
  ],
];

/** Whether a free lock was requested: such a lock is given without a wait. */
async function isGiven(lock: Promise<CheckedLock>): Promise<boolean> {
  const turns = new Promise<boolean>((resolve) => setTimeout(() => resolve(false)));
  return await Promise.race([lock.then(() => true), turns]);
}

async function assertBreaks(rule: StoreRule, check: Promise<void>): Promise<void> {
  const error = await assertRejects(() => check, StoreRuleError);
  assertEquals(error.rule, rule);
}

for (const [what, rule, fault] of FAULTS) {
  Deno.test(`checkStore() rejects a store that ${what}`, async () => {
    const end = new AbortController();
    const table = new Table();
    const open = () => storeIn(table, fault(table, () => end.abort()));
    await assertBreaks(rule, checkStore(open, { signal: end.signal }));
  });
}

Deno.test("checkStore() accepts a store in memory and leaves an empty record", async () => {
  const table = new Table();
  await checkStore(() => storeIn(table));
  assertEquals(table.record, {});
  await assertBreaks("starts", checkStore(() => storeIn(table)));
});

Deno.test("checkStore() accepts the store in the documentation", () =>
  inFolder(async (folder) => {
    const file = sqliteIn(folder);
    await checkStore(() => openSqlite(file));
  }));
