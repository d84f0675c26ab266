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
 * import { createSession, type SessionRecord } from "./mod.ts";
 * let stored: SessionRecord | undefined;
 * let last: Promise<unknown> = Promise.resolve();
 * const session = createSession({
 *   store: {
 *     read: async () => stored,
 *     async update(change) {
 *       const mine = last.then(async () => stored = (await change(stored)) ?? stored);
 *       last = mine.catch(() => {}); // the next update waits, even for one that fails
 *       await mine;
 *     },
 *   },
 * });
 * console.log(session.status().state); // none
 * ```
 */
export interface SessionStore {
  /**
   * Returns the stored record; `undefined` if there is none. Does not wait for an update in
   * progress.
   */
  read(): Promise<SessionRecord | undefined>;
  /**
   * Takes the lock of the store, reads the record, calls `change` once with it, stores what
   * `change` returns, and releases the lock.
   *
   * - The lock is exclusive for all processes that share the record.
   * - If `change` returns `undefined`, the record stays unchanged.
   * - If `change` rejects, stores nothing, releases the lock and rejects with the same error.
   * - `change` may take as long as a refresh (`timeoutMs`, by default 30 seconds). A lock that
   *   expires by itself must last longer.
   * - `change` must not call `update()`: each would wait for the other forever.
   */
  update(
    change: (now?: SessionRecord) => Promise<SessionRecord | undefined>,
  ): Promise<void>;
}
