/**
 * A session as plain JSON. The members are the lines that a `.env` would contain, such as
 * `ACCESS_TOKEN` and `REFRESH_TOKEN`; a later version may add members. The values are secrets.
 * After a logout, the record has no members.
 */
export type SessionRecord = Readonly<Record<string, string>>;

/**
 * A program's own store for a session, such as a row in a database that all workers share.
 * Use one object for each session: another object means another account. `checkStore()` of the
 * sandbox module tests an implementation.
 *
 * ```ts
 * import { setTimeout as delay } from "node:timers/promises";
 * import { createSession, type SessionRecord } from "./mod.ts";
 * let stored: SessionRecord | undefined;
 * let holder: object | undefined;
 * const session = createSession({
 *   store: {
 *     read: async () => stored,
 *     async lock(signal) {
 *       while (holder) await delay(10, undefined, { signal });
 *       const mine = holder = {};
 *       return {
 *         async write(record) {
 *           if (holder !== mine) throw new Error("the lock was lost");
 *           stored = record;
 *         },
 *         async [Symbol.asyncDispose]() {
 *           if (holder === mine) holder = undefined;
 *         },
 *       };
 *     },
 *   },
 * });
 * console.log(session.status().state); // none
 * ```
 */
export interface SessionStore {
  /**
   * Returns the stored record; `undefined` if there is none, which means that the data was lost or
   * never written. Does not wait for the lock.
   */
  read(signal: AbortSignal): Promise<SessionRecord | undefined>;
  /**
   * Waits until it has the lock, or rejects once the signal aborts. Of all processes that share the
   * record, only one has the lock at a time. A later abort does not release the lock.
   *
   * The session reads the record again under the lock, and may hold the lock as long as a refresh
   * takes (`timeoutMs`, by default 30 seconds). A lock that expires by itself must last longer.
   */
  lock(signal: AbortSignal): Promise<SessionLock>;
}

/**
 * The lock of a {@linkcode SessionStore}. Disposal releases the lock; a second disposal must do
 * nothing.
 */
export interface SessionLock extends AsyncDisposable {
  /**
   * Stores the record. The session calls it at most once, just before it releases the lock.
   * Rejects if the lock was lost, because another holder may have written since.
   */
  write(record: SessionRecord, signal: AbortSignal): Promise<void>;
}
