import type { AuthError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/** What a store holds. It is the same object until the store holds something else. */
export interface Stored {
  readonly tokens: Tokens | undefined;
}

/** Whether a transaction has the lock, and if not, why. */
export type LockState =
  | "held"
  /** Another process holds it. */
  | "busy"
  /** This user may not hold it. */
  | "denied"
  /** Nobody can hold one here. */
  | "impossible"
  /** The store does not answer. */
  | "away";

/** What became of a write. */
export type Written =
  | { readonly kind: "saved"; readonly stored: Stored }
  /** Others wrote since the transaction looked: what they wrote is there, and nothing was changed. */
  | { readonly kind: "others wrote"; readonly stored: Stored }
  | { readonly kind: "failed"; readonly problem: AuthError; readonly stored: Stored };

/** What writes to a store, which decides what gives way. */
export type WrittenBy =
  /** A login or a logout: they take the place of all that others wrote meanwhile. */
  | "change"
  /** A refresh: it does not overwrite tokens that others wrote since the transaction looked. */
  | "refresh"
  /**
   * A refresh that was refused: it gives way to the tokens that a late holder of the lock got for the
   * same refresh token.
   */
  | "refusal";

/** What can be done while no other process on the store does anything. */
export interface Transaction {
  readonly lock: LockState;
  /** Why the store does not answer, if the lock is `away`. */
  readonly problem?: AuthError | undefined;
  /** Writes tokens, or takes them out (`undefined`). */
  write(tokens: Tokens | undefined, by: WrittenBy): Promise<Written>;
}

/** How long a transaction waits for its lock. */
export interface Wait {
  /** At most so long, in milliseconds. */
  readonly ms: number;
  /** How much of that a store may take that does not answer. Default: all of it. */
  readonly reachMs?: number;
  /** Ends the wait; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** True when another process already did what the lock is wanted for: do not wait for the lock. */
  isServed?(): boolean;
}

/** Where a session is kept so that other processes share it. What was written last counts. */
export interface SessionStore {
  /** A look now, without the lock. A store that cannot be read is as it was. */
  read(): Stored;
  /** Takes the lock, looks, works, and frees the lock. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, wait: Wait): Promise<T>;
  /** Only where asking a server tells what it holds. */
  readonly remote?: RemoteStore;
}

/** A store that answers requests. */
export interface RemoteStore {
  /**
   * Asks for the latest, so that `read()` knows it. No answer is no error.
   *
   * @param waitMs How long a store that does not answer is asked again. A call with a good token waits
   *   for one question only.
   * @param signal Ends the wait.
   * @throws {ConfigError} If the store cannot be used with these settings.
   */
  look(waitMs: number, signal?: AbortSignal): Promise<void>;
  /** Makes sure that the store can be used with these settings. @throws {ConfigError} */
  ready(): Promise<void>;
  /** Why the store did not answer when it was last asked. */
  readonly problem: AuthError | undefined;
  /** Whether that stays until somebody does something, so that asking again is of no use. */
  readonly stays: boolean;
}

/** Nothing is held. */
export const NOTHING: Stored = { tokens: undefined };

/** A session that no other process shares. */
export const MEMORY_ONLY: SessionStore = {
  read: () => NOTHING,
  transaction: async (work) => {
    // Logins and logouts of one moment are applied together, as where there is a lock.
    await Promise.resolve();
    return await work({
      lock: "impossible",
      write: () => Promise.resolve({ kind: "saved", stored: NOTHING }),
    });
  },
};
