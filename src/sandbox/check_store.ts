/** A record of a session: the lines of a `.env`. */
export type CheckedRecord = Readonly<Record<string, string>>;

/** A store that `createSession({ store })` accepts. */
export interface CheckedStore {
  /** Returns the stored record; `undefined` if there is none. */
  read(signal: AbortSignal): Promise<CheckedRecord | undefined>;
  /** Waits until it has the exclusive lock, or rejects once the signal aborts. */
  lock(signal: AbortSignal): Promise<CheckedLock>;
}

/** The lock of a store. Its disposal releases the lock. */
export interface CheckedLock extends AsyncDisposable {
  /** Stores the record; rejects if the lock was lost. */
  write(record: CheckedRecord, signal: AbortSignal): Promise<void>;
}

/** Options of {@linkcode checkStore}. */
export interface CheckStoreOptions {
  /**
   * Ends the check. `checkStore()` then throws the error of the rule that it was checking. Default:
   * a signal that aborts after 30 seconds.
   */
  signal?: AbortSignal;
}

/**
 * The name of a rule that a store must obey.
 *
 * - `starts`: `read()` returns `undefined` if there is no record.
 * - `keeps`: `read()` returns the record that `write()` stored.
 * - `leaves`: a lock that is released without `write()` leaves the record unchanged.
 * - `empties`: `read()` returns a stored record even if the record has no members.
 * - `excludes`: only one holder at a time has the lock, across all processes.
 * - `reads`: `read()` does not wait for the lock.
 * - `aborts`: `lock()` rejects when its signal aborts, and takes no lock afterwards.
 * - `releases`: the disposal releases the lock.
 * - `repeats`: a second disposal does nothing.
 * - `fails`: a `write()` that rejects changes nothing.
 * - `loses`: `write()` rejects if its lock was released.
 */
export type StoreRule =
  | "starts"
  | "keeps"
  | "leaves"
  | "empties"
  | "excludes"
  | "reads"
  | "aborts"
  | "releases"
  | "repeats"
  | "fails"
  | "loses";

/** The text of each rule, and what to do if the store breaks the rule. */
const RULES: Readonly<Record<StoreRule, readonly [rule: string, fix: string]>> = {
  starts: [
    "read() must return undefined if there is no record",
    "return undefined, and check a place that has no record yet",
  ],
  keeps: ["read() must return the record that write() stored", "store every member unchanged"],
  leaves: [
    "a lock that is released without write() must leave the record unchanged",
    "store only what write() receives",
  ],
  empties: [
    "read() must return a record without members after such a record was stored",
    "store {} as well: undefined means that the record was lost",
  ],
  excludes: [
    "lock() must not give a lock while another holder has it",
    "take a lock that is exclusive for all processes and for all callers in one process, and hold " +
    "it until it is released, even if the signal of lock() aborts later",
  ],
  reads: [
    "read() must return the last stored record while another holder has the lock",
    "read the record without taking the lock",
  ],
  aborts: [
    "lock() must reject when its signal aborts, and must not take the lock afterwards",
    "stop waiting when the signal aborts",
  ],
  releases: [
    "[Symbol.asyncDispose]() must release the lock",
    "release the lock even if nothing was written or a write failed",
  ],
  repeats: [
    "a second [Symbol.asyncDispose]() must do nothing",
    "release the lock only if this object still holds it",
  ],
  fails: [
    "a write() that rejects must change nothing, and one that resolves must store the record",
    "store the whole record in one step, and wait until it is stored",
  ],
  loses: [
    "write() must reject if its lock was released, and must change nothing",
    "in one step, check that the lock is still held and store the record",
  ],
};

/** The error of {@linkcode checkStore}: the store breaks a rule. */
export class StoreRuleError extends Error {
  /** The name of the class. */
  override name = "StoreRuleError";
  /** The rule that is broken. */
  readonly rule: StoreRule;

  /** Only `checkStore()` creates this error. */
  constructor(rule: StoreRule, detail = "") {
    const [text, fix] = RULES[rule];
    super(`${text}${detail}; ${fix}`);
    this.rule = rule;
  }
}

/**
 * A record with values that a store may damage. It also has a name that this module does not know,
 * because a store must keep such lines.
 */
const SAMPLE: CheckedRecord = {
  ACCESS_TOKEN: "x".repeat(4_096),
  REFRESH_TOKEN: `'single' "double" \`back\` \\ $1 % ; --`,
  AUTH_SESSION: "two\nlines\r\n\tand é ü 漢字 🌍",
  FUTURE_LINE: " ",
};
const OTHER: CheckedRecord = { ACCESS_TOKEN: "y" };
/** Number of sessions that compete for the lock. */
const RIVALS = 6;
/** Time after which the check assumes that the store does not give a lock. */
const PATIENCE_MS = 50;

/**
 * Checks whether your own store obeys the rules of `createSession({ store })`. The store must be
 * at a place that has no record yet; an empty record remains there.
 *
 * ```ts
 * import { setTimeout as delay } from "node:timers/promises";
 * import { type CheckedRecord, checkStore } from "@platform-auth/platform-auth/sandbox";
 * let stored: CheckedRecord | undefined;
 * let holder: object | undefined;
 * await checkStore(() => ({
 *   read: async () => stored,
 *   async lock(signal) {
 *     while (holder) await delay(10, undefined, { signal });
 *     const mine = holder = {};
 *     return {
 *       async write(record) {
 *         if (holder !== mine) throw new Error("the lock was lost");
 *         stored = record;
 *       },
 *       async [Symbol.asyncDispose]() {
 *         if (holder === mine) holder = undefined;
 *       },
 *     };
 *   },
 * }));
 * ```
 *
 * @param open Opens the store. It is called twice, as two processes that share the record would do.
 * @throws {StoreRuleError} If the store breaks a rule. Any other error comes from the store itself.
 */
export async function checkStore(
  open: () => CheckedStore | Promise<CheckedStore>,
  { signal }: CheckStoreOptions = {},
): Promise<void> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), 30_000);
  const check = new Check(signal ? AbortSignal.any([signal, limit.signal]) : limit.signal);
  try {
    const [one, other] = [await open(), await open()];
    await check.records(one, other);
    await check.waiting(one, other);
    await check.lost(one, other);
    await check.rivals(one, other);
  } finally {
    await check.releaseAll();
    clearTimeout(timer);
  }
}

/** One run of `checkStore()`. */
class Check {
  /** All calls of `lock()`. */
  readonly #calls: Promise<CheckedLock>[] = [];
  /** Cancels the calls of `lock()` that still wait. */
  readonly #leave = new AbortController();

  /** @param ends Ends the check. */
  constructor(readonly ends: AbortSignal) {}

  async records(one: CheckedStore, other: CheckedStore): Promise<void> {
    await this.#expect("starts", undefined, one, other);
    await this.#put("empties", one, {});
    await this.#expect("empties", {}, one, other);
    await this.#put("keeps", one, SAMPLE);
    await this.#expect("keeps", SAMPLE, one, other);
    await this.#release("releases", await this.#lock("releases", other));
    await this.#expect("leaves", SAMPLE, one, other);
  }

  /** Checks what happens while one session has the lock and others wait for it. */
  async waiting(one: CheckedStore, other: CheckedStore): Promise<void> {
    const early = new AbortController();
    const holder = await this.#lock("releases", one, early.signal);
    // The session has the lock, so it must keep the lock after this abort.
    early.abort();
    const leave = new AbortController();
    const waiting = [one, other].map((store) => this.#lock("aborts", store, leave.signal));
    await this.#expectNone("excludes", waiting);
    await this.#expect("reads", SAMPLE, one, other);
    leave.abort();
    for (const end of await Promise.allSettled(waiting)) {
      if (end.status === "fulfilled") throw new StoreRuleError("aborts");
      if (end.reason instanceof StoreRuleError) throw end.reason;
    }
    await this.#within("keeps", holder.write(OTHER, this.ends));
    await this.#release("releases", holder);
    await this.#expect("keeps", OTHER, one, other);
    await this.#release("releases", await this.#lock("aborts", other));
  }

  /** Checks a second release of a lock, a write after the release, and a write that may fail. */
  async lost(one: CheckedStore, other: CheckedStore): Promise<void> {
    const late = await this.#lock("releases", one);
    await this.#release("releases", late);
    const holder = await this.#lock("releases", other);
    await this.#release("repeats", late);
    const leave = new AbortController();
    const waiting = this.#lock("aborts", one, leave.signal);
    await this.#expectNone("repeats", [waiting]);
    leave.abort();
    await waiting.catch(() => {});
    if (await this.#isStored("loses", late, SAMPLE, this.ends)) throw new StoreRuleError("loses");
    await this.#release("releases", holder);
    await this.#expect("loses", OTHER, one, other);

    const last = await this.#lock("releases", one);
    const isStored = await this.#isStored("fails", last, SAMPLE, AbortSignal.abort());
    await this.#release("releases", last);
    await this.#expect("fails", isStored ? SAMPLE : OTHER, one, other);
  }

  /** Checks several sessions that compete for the lock. Each adds a member to the record. */
  async rivals(one: CheckedStore, other: CheckedStore): Promise<void> {
    await this.#put("empties", one, {});
    const names = Array.from({ length: RIVALS }, (_, at) => `LINE_${at}`);
    await Promise.all(names.map(async (name, at) => {
      const store = at % 2 === 0 ? one : other;
      const lock = await this.#lock("releases", store);
      const now = await this.#within("reads", store.read(this.ends));
      await this.#within("excludes", lock.write({ ...now, [name]: name }, this.ends));
      await this.#release("releases", lock);
    }));
    const all = Object.fromEntries(names.map((name) => [name, name]));
    await this.#expect("excludes", all, one, other);
    await this.#put("empties", one, {});
    await this.#expect("empties", {}, one, other);
  }

  /** Releases all locks after the check. Ignores errors, which would hide why the check failed. */
  async releaseAll(): Promise<void> {
    this.#leave.abort();
    await Promise.allSettled(
      this.#calls.map((call) =>
        this.#within("releases", call.then((lock) => lock[Symbol.asyncDispose]()))
      ),
    );
  }

  async #lock(
    rule: StoreRule,
    store: CheckedStore,
    signal: AbortSignal = this.ends,
  ): Promise<CheckedLock> {
    const call = store.lock(AbortSignal.any([signal, this.ends, this.#leave.signal]));
    this.#calls.push(call);
    return await this.#within(rule, call);
  }

  async #release(rule: StoreRule, lock: CheckedLock): Promise<void> {
    await this.#within(rule, lock[Symbol.asyncDispose]());
  }

  async #put(rule: StoreRule, store: CheckedStore, record: CheckedRecord): Promise<void> {
    const lock = await this.#lock("releases", store);
    await this.#within(rule, lock.write(record, this.ends));
    await this.#release("releases", lock);
  }

  /** Writes, and returns whether the write succeeded. */
  async #isStored(
    rule: StoreRule,
    lock: CheckedLock,
    record: CheckedRecord,
    signal: AbortSignal,
  ): Promise<boolean> {
    const written = Promise.try(() => lock.write(record, signal));
    return await this.#within(rule, written.then(() => true, () => false));
  }

  /** Waits a moment. Throws if the store gives one of these locks meanwhile. */
  async #expectNone(rule: StoreRule, waiting: readonly Promise<CheckedLock>[]): Promise<void> {
    let given = false;
    for (const lock of waiting) lock.then(() => given = true, () => {});
    await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    if (given) throw new StoreRuleError(rule);
  }

  async #expect(
    rule: StoreRule,
    expected: CheckedRecord | undefined,
    ...stores: readonly CheckedStore[]
  ): Promise<void> {
    for (const store of stores) {
      const found = await this.#within(rule, store.read(this.ends));
      if ((found === undefined) !== (expected === undefined)) {
        throw new StoreRuleError(rule, ` (it was ${found ? "a record" : "undefined"})`);
      }
      const names = Object.keys({ ...found, ...expected });
      const wrong = names.find((name) => found?.[name] !== expected?.[name]);
      if (wrong !== undefined) throw new StoreRuleError(rule, ` (wrong: ${wrong})`);
    }
  }

  /** Waits for the store, but not longer than the signal allows: a store may never respond. */
  async #within<T>(rule: StoreRule, work: PromiseLike<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onEnd = () => reject(new StoreRuleError(rule, " (it took too long)"));
    if (this.ends.aborted) onEnd();
    this.ends.addEventListener("abort", onEnd);
    try {
      return await Promise.race([work, promise]);
    } finally {
      this.ends.removeEventListener("abort", onEnd);
    }
  }
}
