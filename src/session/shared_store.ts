import type { AuthError } from "../errors/errors.ts";
import type { Tokens } from "../values/tokens.ts";
import type { News } from "./state.ts";

/** A lock held, or why there is none. */
export interface StoreLock {
  readonly held: boolean;
  /** `busy`: another process holds it. `denied`: this user may not hold it. `impossible`: nobody can hold one here. `away`: the store does not answer. */
  readonly reason?: "busy" | "denied" | "impossible" | "away";
}

/** What ends the wait for a lock early. */
export interface Waiting {
  /** Its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** How much of the time a store may take that does not answer. */
  readonly reachMs?: number;
  /**
   * Whether others did meanwhile what the lock is wanted for. Where each look at the store is a request
   * the work then begins without the lock: the turns of many take longer than what they wait for.
   */
  readonly isServed?: () => boolean;
}

/**
 * Where a session is kept so that other processes share it. What was written last under the lock is
 * the newest, whatever the times in its tokens.
 */
export interface SharedStore {
  /** What is kept there, at the first use of the session. */
  read(): Tokens | undefined;
  /**
   * Asks for the latest, where only asking tells it, so that `news()` knows. No answer is no error.
   *
   * @param isPatient Whether it is worth some seconds; else a call with a good token waits.
   * @throws {ConfigError} If the store cannot be used with these settings.
   */
  sync?(isPatient: boolean): Promise<void>;
  /** Makes sure that the store can be used with these settings. @throws {ConfigError} */
  ready?(): Promise<unknown>;
  /** Why the store did not answer when it was last asked. */
  readonly problem?: AuthError | undefined;
  /** What others wrote since this session last read or wrote. Each news is told once. */
  news(): News;
  /**
   * Works while no other process on the store does, waiting for that at most so long.
   */
  withLock<T>(
    waitMs: number,
    work: (lock: StoreLock) => Promise<T>,
    waiting?: Waiting,
  ): Promise<T>;
  /**
   * Writes what the session holds when its turn comes. A failure is a warning: the tokens stay in memory.
   *
   * @param over Whether to write over what others wrote meanwhile, as a login does. Else their news are given back.
   */
  save(held: () => Tokens | undefined, lock: StoreLock, over: boolean): Promise<News>;
  /**
   * Takes the tokens out.
   *
   * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if they are still there.
   */
  clear(lock: StoreLock): Promise<void>;
}

/** A session that no other process shares. */
export const MEMORY_ONLY: SharedStore = {
  read: () => undefined,
  news: () => ({ kind: "same" }),
  withLock: (_waitMs, work) => work({ held: false, reason: "impossible" }),
  save: () => Promise.resolve({ kind: "same" }),
  clear: () => Promise.resolve(),
};
