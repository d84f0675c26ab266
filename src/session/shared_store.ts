import type { Tokens } from "../values/tokens.ts";
import type { News } from "./state.ts";

/** A lock held, or why there is none. */
export interface StoreLock {
  readonly held: boolean;
  /** `busy`: another process holds it. `denied`: this user may not hold it. `impossible`: nobody can hold one here. */
  readonly reason?: "busy" | "denied" | "impossible";
}

/**
 * Where a session is kept so that other processes share it. What was written last under the lock is
 * the newest, whatever the times in its tokens.
 */
export interface SharedStore {
  /** What is kept there, at the first use of the session. */
  read(): Tokens | undefined;
  /** What others wrote since this session last read or wrote. Each news is told once. */
  news(): News;
  /**
   * Works while no other process on the store does, waiting for that at most so long.
   *
   * @param signal Ends the wait; its reason is thrown.
   */
  withLock<T>(
    waitMs: number,
    work: (lock: StoreLock) => Promise<T>,
    signal?: AbortSignal,
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
   * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if they are still there.
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
