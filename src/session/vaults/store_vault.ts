import { causeOf } from "../../errors/cause.ts";
import {
  type AuthError,
  CODES,
  ConfigError,
  type ConfigErrorCode,
  ProviderError,
} from "../../errors/errors.ts";
import { onAbort, unlessAborted } from "../../platform/abort.ts";
import { backoffMs } from "../../platform/backoff.ts";
import type { SessionLock, SessionStore } from "../../settings/session_store.ts";
import { isRefusalOf, sameLines } from "../stored_tokens.ts";
import {
  type Lines,
  type Lock,
  lockBusy,
  type LockWait,
  type Owner,
  type Place,
  placeText,
  type StoredSession,
  type Vault,
  type Wait,
  type Written,
} from "./vault.ts";

/** Time limit of a read if the token is still valid. */
const BRIEF_MS = 1_000;
/**
 * Extra time for the store after a time limit, so that a process that was suspended past the limit
 * can make one last attempt.
 */
const GRACE_MS = 500;
/**
 * The first and the longest pause between two reads of the store while another process holds the
 * lock.
 */
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 500;

/** A store that is ready for use. */
export interface OpenedStore {
  readonly store: SessionStore;
  /** Absent if the store keeps the session of any account. */
  readonly owner?: Owner;
}

/** Keeps a session in a store: see `SessionStore`. */
export class StoreVault implements Vault {
  owner: Owner | undefined;
  #opening: Promise<OpenedStore> | undefined;
  /**
   * The reads in progress: one for the calls that need the store (`true`), one for all other calls.
   */
  readonly #reading = new Map<boolean, Promise<Lines | undefined>>();

  /** @param open Loads the store. This does not count towards a time limit. */
  constructor(
    readonly place: Place,
    private readonly session: StoredSession,
    private readonly open: () => Promise<OpenedStore>,
  ) {}

  peek(): undefined {
    return undefined;
  }

  async read({ ms, isNeeded, signal }: Wait): Promise<Lines | undefined> {
    const store = await this.#opened(signal);
    // One read serves all simultaneous calls.
    const reading = this.#reading.getOrInsertComputed(
      isNeeded,
      () => this.#readFrom(store, isNeeded ? ms : Math.min(ms, BRIEF_MS)),
    );
    try {
      return await unlessAborted(signal, reading);
    } catch (error) {
      signal?.throwIfAborted();
      const problem = this.problemOf("read", error);
      this.session.notices.set({ STORE_AWAY: problem });
      if (isNeeded || isUnusable(problem)) throw problem;
      return undefined;
    } finally {
      // The next call starts its own read, because this one may never end.
      if (this.#reading.get(isNeeded) === reading) this.#reading.delete(isNeeded);
    }
  }

  async lock({ ms, signal, isServedBy }: LockWait): Promise<StoreLock> {
    const store = await this.#opened(signal);
    signal?.throwIfAborted();
    const started = this.#world.monotonic();
    const limit = this.#world.timeout(ms);
    const over = new AbortController();
    const locking = Promise.try(() => store.lock(AbortSignal.any([limit, over.signal])));
    const waits: Promise<SessionLock | undefined>[] = [
      unlessAborted(signal, this.#within(limit, locking)),
    ];
    if (isServedBy) waits.push(this.#untilServed(store, isServedBy, over.signal));
    let held: SessionLock | undefined;
    try {
      held = await Promise.race(waits);
    } catch (error) {
      signal?.throwIfAborted();
      const isBusy = limit.aborted && explanationIn(error) === undefined;
      return await this.#notHeld(isBusy ? lockBusy("store") : this.problemOf("lock", error));
    } finally {
      over.abort();
      const waitedMs = Math.round(this.#world.monotonic() - started);
      if (waitedMs >= FIRST_LOOK_MS) {
        this.#world.log?.({ event: "lock", waitedMs, isHeld: held !== undefined });
      }
      // The store may grant the lock too late.
      if (held === undefined) locking.then((late) => late[Symbol.asyncDispose]()).catch(() => {});
    }
    // Another process has saved what the caller needs, so the lock is not needed.
    if (held === undefined) return new StoreLock(this, ms, undefined, undefined, lockBusy("store"));
    const lock = new StoreLock(this, ms, undefined, held);
    try {
      lock.now = await this.#readFrom(store, ms);
      return lock;
    } catch (error) {
      await lock.release();
      return await this.#notHeld(this.problemOf("read", error));
    }
  }

  /** Does one step of work on the store, within a time limit. */
  async step<Result>(
    ms: number,
    work: (limit: AbortSignal) => PromiseLike<Result>,
  ): Promise<Result> {
    const limit = this.#world.timeout(ms);
    return await this.#within(limit, Promise.try(() => work(limit)));
  }

  /** Reads the store under the lock. */
  async readNow(ms: number): Promise<Lines | undefined> {
    return await this.#readFrom(await this.#opened(undefined), ms);
  }

  /**
   * @param cause The store's error. The message of an unknown error is dropped, because it may
   * contain a secret.
   */
  problemOf(method: "read" | "lock" | "write", cause: unknown): ConfigError {
    const explained = explanationIn(cause);
    if (explained) return explained;
    const failed = `Cannot use the session in ${placeText(this.place)}`;
    if (cause instanceof ProviderError) {
      const busy = "another process held its lock for too long";
      return new ConfigError("STORE_UNREACHABLE", `${failed}: ${busy}`, cause.fix);
    }
    return new ConfigError(
      "STORE_UNREACHABLE",
      `${failed}: ${method}() failed or took too long`,
      "check the object in the option store, for example with checkStore() of the sandbox, and try again",
      cause,
    );
  }

  async #opened(signal: AbortSignal | undefined): Promise<SessionStore> {
    const opening = this.#opening ??= this.open();
    try {
      const { store, owner } = await unlessAborted(signal, opening);
      this.owner = owner;
      return store;
    } catch (error) {
      // The next call tries again.
      if (!signal?.aborted) this.#opening = undefined;
      throw error;
    }
  }

  async #readFrom(store: SessionStore, ms: number): Promise<Lines | undefined> {
    const record = await this.step(ms, (limit) => store.read(limit));
    const lines = record && Object.fromEntries(
      Object.entries(record).filter(([, text]) => typeof text === "string"),
    );
    this.session.notices.set({ STORE_AWAY: undefined });
    return lines;
  }

  /** Reads the store now and then until another process has saved what the caller needs. */
  async #untilServed(
    store: SessionStore,
    isServedBy: (lines: Lines | undefined) => boolean,
    over: AbortSignal,
  ): Promise<undefined> {
    const { random, timeout } = this.#world;
    for (let look = 1; !over.aborted; look++) {
      const pauseMs = backoffMs(look, FIRST_LOOK_MS, random, LONGEST_LOOK_MS);
      await new Promise<void>((resolve) => onAbort(timeout(pauseMs), resolve));
      // If the store cannot be read, the wait for the lock goes on.
      const lines = over.aborted
        ? undefined
        : await this.#readFrom(store, BRIEF_MS).catch(() => {});
      if (lines && !over.aborted && isServedBy(lines)) return;
    }
  }

  /**
   * Makes the result for a lock that was not granted. Reads the store, because another process may
   * have saved new tokens.
   */
  async #notHeld(problem: AuthError): Promise<StoreLock> {
    if (isUnusable(problem)) throw problem;
    const now = await this.read({ ms: BRIEF_MS, isNeeded: false });
    return new StoreLock(this, BRIEF_MS, now, undefined, problem);
  }

  /** Settles like the work, but at the latest a little after the time limit. */
  async #within<Result>(limit: AbortSignal, work: Promise<Result>): Promise<Result> {
    const end = new AbortController();
    const stopListening = onAbort(limit, () => {
      onAbort(this.#world.timeout(GRACE_MS), () => end.abort(limit.reason));
    });
    return await unlessAborted(end.signal, work).finally(stopListening);
  }

  get #world() {
    return this.session.configuration.world;
  }
}

class StoreLock implements Lock {
  /** Whether the lock was taken again, after the first one expired. */
  isSecond = false;

  constructor(
    private readonly vault: StoreVault,
    private readonly ms: number,
    public now: Lines | undefined,
    private held?: SessionLock,
    readonly problem?: AuthError,
  ) {}

  get isHeld(): boolean {
    return this.held !== undefined;
  }

  async read(): Promise<Lines | undefined> {
    // If the store cannot be read, the lines of the last read still count.
    return this.now = await this.vault.readNow(this.ms).catch(() => this.now);
  }

  async write(lines: Lines, isFinal: boolean): Promise<Written> {
    const { held, now: before = {}, vault, ms, problem } = this;
    if (held === undefined) return { found: this.now, problem: vault.problemOf("lock", problem) };
    let limit: AbortSignal | undefined;
    try {
      await vault.step(ms, (signal) => held.write(lines, limit = signal));
      // Some stores commit their transaction only on release.
      this.held = undefined;
      await vault.step(ms, () => held[Symbol.asyncDispose]());
      return { found: lines };
    } catch (error) {
      let found = await this.read();
      // The lines may be written although the reply was lost.
      if (found && sameLines(found, lines)) return { found };
      /** Whether the store contains what a refresh must not replace. */
      const isOthers = () => found && !sameLines(found, before) && !isRefusalOf(found, before);
      if ((isFinal || !isOthers()) && limit?.aborted === false && !this.isSecond) {
        // The lock may have expired while this process was suspended.
        await this.release();
        await using again = await vault.lock({ ms });
        again.isSecond = true;
        const isSame = sameLines(again.now ?? {}, found ?? {});
        if (again.isHeld && (isFinal || isSame)) return await again.write(lines, isFinal);
        found = again.now ?? found;
      }
      if (isOthers() && !isFinal) return { found };
      return { found, problem: vault.problemOf("write", error) };
    }
  }

  async release(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    if (held === undefined) return;
    // A failed release is harmless: the lock expires, or its connection ends.
    await this.vault.step(BRIEF_MS, () => held[Symbol.asyncDispose]()).catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/**
 * Returns the error if it has a code and a fix, as the errors of `redisStore()` have. The released
 * `redis.js` has its own copy of the error classes, so the code decides, not the class.
 */
function explanationIn(error: unknown): ConfigError | undefined {
  if (error instanceof ConfigError) return error;
  const code = causeOf(error)?.code as ConfigErrorCode | undefined;
  if (code === undefined || CODES[code] !== "ConfigError") return undefined;
  const { problem, fix } = error as Partial<ConfigError>;
  return problem && fix ? new ConfigError(code, problem, fix) : undefined;
}

/** Whether the store cannot be used as it is set up, so that waiting and retrying are useless. */
function isUnusable({ code }: AuthError): boolean {
  return code === "INVALID_SETTING" || code === "PERMISSION" || code === "PACKAGE_UNAVAILABLE";
}
