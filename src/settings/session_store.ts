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
 * import { createSession, type SessionRecord, type SessionStore } from "./mod.ts";
 *
 * let stored: SessionRecord | undefined;
 * let isLocked = false;
 * const store: SessionStore = {
 *   read: async () => stored,
 *   async lock(signal) {
 *     while (isLocked) {
 *       signal.throwIfAborted();
 *       await new Promise((resolve) => setTimeout(resolve, 20));
 *     }
 *     isLocked = true;
 *     return {
 *       write: async (record) => void (stored = record),
 *       [Symbol.asyncDispose]: async () => void (isLocked = false),
 *     };
 *   },
 * };
 * const session = createSession({ store });
 * console.log(session.status().state); // none
 * ```
 */
export interface SessionStore {
  /**
   * Returns the stored record; `undefined` if there is none. After a logout, there is a record
   * without members: a missing record means that the store lost its data. Does not wait for the
   * lock.
   *
   * Rejects if the record cannot be read before the signal aborts. If an attempt fails, repeat it
   * until then.
   */
  read(signal: AbortSignal): Promise<SessionRecord | undefined>;
  /**
   * Waits until it has the lock, which is exclusive for all processes that share the record. Then
   * the session reads the record, decides, writes a record if necessary, and disposes of the lock.
   *
   * Rejects if it has no lock when the signal aborts. If the promise resolves later nevertheless,
   * the session releases the lock.
   *
   * A session may hold the lock as long as a refresh takes (`timeoutMs`, by default 30 seconds). A
   * lock that expires by itself, so that a killed process does not block the others, must last
   * longer than that.
   */
  lock(signal: AbortSignal): Promise<SessionLock>;
}

/** The lock of a {@linkcode SessionStore}. Disposing of it releases it. */
export interface SessionLock extends AsyncDisposable {
  /**
   * Stores a record. The session calls this at most once, immediately before it releases the lock.
   *
   * Rejects, and stores nothing, if the lock has expired: another process may hold it now. Also
   * rejects if the record is not stored when the signal aborts.
   */
  write(record: SessionRecord, signal: AbortSignal): Promise<void>;
}
