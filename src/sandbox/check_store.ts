/** A record of a session: the lines of a `.env`. */
export type CheckedRecord = Readonly<Record<string, string>>;

/** A store that `createSession({ store })` accepts. */
export interface CheckedStore {
  /** Returns the stored record; `undefined` if there is none. */
  read(): Promise<CheckedRecord | undefined>;
  /** Changes the record under a lock, so that no other process changes it at the same time. */
  update(change: (now?: CheckedRecord) => Promise<CheckedRecord | undefined>): Promise<void>;
}

/** Options of {@linkcode checkStore}. */
export interface CheckStoreOptions {
  /**
   * A second object for the same record, made in the way in which another process would make it.
   * The check then also tests the lock between two connections. Default: the store itself.
   */
  other?: CheckedStore;
  /**
   * Ends the check. `checkStore()` then throws the error of the rule that it was checking. Default:
   * a signal that aborts after 30 seconds.
   */
  signal?: AbortSignal;
}

/**
 * The name of a rule that a store must obey.
 *
 * - `keeps`: `read()` returns the record that `update()` stored.
 * - `passes`: `update()` calls its function once, with the stored record.
 * - `leaves`: if the function returns `undefined`, `update()` leaves the record unchanged.
 * - `rejects`: `update()` rejects with the error of its function.
 * - `discards`: after an error of its function, `update()` stores nothing.
 * - `releases`: after an error of its function, `update()` releases the lock.
 * - `excludes`: only one update runs at a time, in all processes together.
 * - `reads`: `read()` does not wait for an update.
 * - `empties`: a record without members can be stored.
 */
export type StoreRule =
  | "keeps"
  | "passes"
  | "leaves"
  | "rejects"
  | "discards"
  | "releases"
  | "excludes"
  | "reads"
  | "empties";

/** The text of each rule, and what to do if the store breaks the rule. */
const RULES: Readonly<Record<StoreRule, readonly [rule: string, fix: string]>> = {
  keeps: ["read() must return the record that update() stored", "store every member unchanged"],
  passes: [
    "update() must call its function once, with the record that is stored",
    "read the record after taking the lock",
  ],
  leaves: [
    "update() must leave the record unchanged if its function returns undefined",
    "store nothing if the function returns undefined",
  ],
  rejects: [
    "update() must reject with the error of its function, and only after the function ended",
    "await the function, and throw its error",
  ],
  discards: [
    "update() must store nothing if its function rejects",
    "store the record only after the function returned it",
  ],
  releases: [
    "update() must release the lock if its function rejects",
    "release the lock in a finally block",
  ],
  excludes: [
    "only one update() may call its function at a time",
    "take an exclusive lock first, and hold it until the record is stored",
  ],
  reads: [
    "read() must return the last stored record, even during an update()",
    "read the record without taking the lock",
  ],
  empties: [
    "update() must also store a record without members",
    "store the empty record, or remove it",
  ],
};

/** The error of {@linkcode checkStore}: the store breaks a rule. */
export class StoreRuleError extends Error {
  /** The name of the class. */
  override name = "StoreRuleError";
  /** The rule that is broken. */
  readonly rule: StoreRule;

  /** Only `checkStore()` creates this error. */
  constructor(rule: StoreRule, detail: string) {
    const [text, fix] = RULES[rule];
    super(`${text}${detail}; ${fix}`);
    this.rule = rule;
  }
}

/**
 * A record with values that a store may damage. One of its names is used by no version of this
 * module, because a store must keep unknown lines.
 */
const SAMPLE: CheckedRecord = {
  ACCESS_TOKEN: "x".repeat(4_096),
  REFRESH_TOKEN: `'single' "double" \`back\` \\ $1 % ; --`,
  AUTH_SESSION: "two\nlines\r\n\tand é ü 漢字 🌍",
  FUTURE_LINE: " ",
};
/** Number of updates that run at once. */
const RIVALS = 6;

/**
 * Checks whether your own store obeys the rules of `createSession({ store })`. Use a record that no
 * session uses during the check. The record is restored at the end.
 *
 * ```ts
 * import { checkStore } from "@platform-auth/platform-auth/sandbox";
 * let stored: Readonly<Record<string, string>> | undefined;
 * let last: Promise<unknown> = Promise.resolve();
 * await checkStore({
 *   read: async () => stored,
 *   async update(change) {
 *     const mine = last.then(async () => stored = (await change(stored)) ?? stored);
 *     last = mine.catch(() => {});
 *     await mine;
 *   },
 * });
 * ```
 *
 * @throws {StoreRuleError} If the store breaks a rule. Any other error comes from the store itself.
 */
export async function checkStore(
  store: CheckedStore,
  options: CheckStoreOptions = {},
): Promise<void> {
  const { other = store, signal } = options;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), 30_000);
  const ends = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;

  /** Waits for the store, but not longer than the signal allows: a store may never respond. */
  async function within<T>(rule: StoreRule, work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onEnd = () => reject(new StoreRuleError(rule, " (it took too long)"));
    if (ends.aborted) onEnd();
    ends.addEventListener("abort", onEnd);
    try {
      return await Promise.race([work, promise]);
    } finally {
      ends.removeEventListener("abort", onEnd);
    }
  }
  async function expectStored(rule: StoreRule, expected: CheckedRecord): Promise<void> {
    expectSame(rule, await within(rule, store.read()), expected);
    expectSame(rule, await within(rule, other.read()), expected);
  }
  const put = (rule: StoreRule, record: CheckedRecord) =>
    within(rule, store.update(() => Promise.resolve(record)));

  const before = await store.read();
  try {
    await put("keeps", SAMPLE);
    await expectStored("keeps", SAMPLE);

    const passed: (CheckedRecord | undefined)[] = [];
    await within("passes", other.update((now) => Promise.resolve(void passed.push(now))));
    if (passed.length !== 1) throw new StoreRuleError("passes", ` (calls: ${passed.length})`);
    expectSame("passes", passed[0], SAMPLE);
    await expectStored("leaves", SAMPLE);

    const failure = new Error("a failed refresh");
    const failing = store.update(() => Promise.reject(failure)).catch((error) => error);
    if (await within("rejects", failing) !== failure) throw new StoreRuleError("rejects", "");
    await expectStored("discards", SAMPLE);
    await put("releases", SAMPLE);

    const reading = store.update(async () => {
      await expectStored("reads", SAMPLE);
      return undefined;
    });
    await within("reads", reading);
    await within("excludes", compete([store, other]));
    await put("empties", {});
    await expectStored("empties", {});
  } catch (error) {
    // If the store no longer responds, the record cannot be restored. The error of the rule must
    // still be thrown.
    await put("empties", before ?? {}).catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
  await put("empties", before ?? {});
}

/**
 * Runs updates simultaneously. Each update adds a member to the record. It also reads the store
 * several times, so that the other updates can run in the meantime.
 */
async function compete(stores: readonly [CheckedStore, CheckedStore]): Promise<void> {
  await stores[0].update(() => Promise.resolve({}));
  let expected: CheckedRecord = {};
  let isRunning = false;
  await Promise.all(Array.from({ length: RIVALS }, async (_, at) => {
    const store = stores[at % 2 as 0 | 1];
    await store.update(async (now) => {
      if (isRunning) throw new StoreRuleError("excludes", "");
      isRunning = true;
      expectSame("excludes", now, expected);
      for (let reads = 0; reads < RIVALS; reads++) await store.read();
      isRunning = false;
      return expected = { ...expected, [`LINE_${at}`]: `${at}` };
    });
  }));
  for (const store of stores) expectSame("excludes", await store.read(), expected);
}

function expectSame(
  rule: StoreRule,
  found: CheckedRecord | undefined,
  expected: CheckedRecord,
): void {
  const given = found ?? {};
  for (const name of Object.keys({ ...given, ...expected })) {
    if (given[name] !== expected[name]) throw new StoreRuleError(rule, ` (wrong: ${name})`);
  }
}
