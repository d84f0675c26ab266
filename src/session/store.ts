import { type AuthError, type ConfigError, ProviderError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/** A session as its store knows it. */
export interface StoredSession {
  /** Replaced when the settings change. */
  readonly configuration: Configuration;
  readonly notices: Notices;
}

/** The content of a store. The object is replaced only when the content changes. */
export interface Stored {
  readonly tokens: Tokens | undefined;
}

export const NOTHING: Stored = { tokens: undefined };

/** The lock under which an update is made. */
export interface Lock {
  readonly isHeld: boolean;
  /** The reason why the lock is not held. Absent if this store has no lock. */
  readonly problem?: AuthError | undefined;
  /**
   * Whether a refresh may proceed without the lock, because the holder may never release it. If
   * not, only logins and logouts may proceed.
   */
  readonly isOptional?: boolean;
}

/** The tokens that an update writes. */
export interface Write {
  /** `undefined` removes the tokens. */
  readonly tokens: Tokens | undefined;
  /**
   * The origin of the write. A write by a `user`, for a login or a logout, replaces any content. A
   * write by a `refresh` replaces only the content that `decide` received; if the content has
   * changed since, `decide` is called again. The same applies to a `refusal`, but tokens from a
   * late holder of the lock replace it.
   */
  readonly by: "user" | "refresh" | "refusal";
}

/** Decides what to write. The result `undefined` leaves the store unchanged. */
export type Decide = (now: Stored, lock: Lock) => Promise<Write | undefined>;

/** The outcome of an update. */
export interface Updated {
  readonly stored: Stored;
  /** The reason why the tokens could not be written. */
  readonly problem?: ConfigError | undefined;
}

export interface WaitOptions {
  /** Maximum time to wait for the lock, in milliseconds. */
  readonly ms: number;
  /**
   * Whether the caller has no valid token without the store. If so, requests to an unreachable
   * store are repeated.
   */
  readonly isNeeded: boolean;
  /** Ends the wait. The signal's reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another process has already done the work for which the lock is needed. */
  isServed?(): boolean;
}

/** The location of the store, for the status and for messages. */
export type StorePlace = { readonly envFile: string } | { readonly store: string };

/** Shares a session with other processes. */
export interface TokenStore {
  /** `undefined` if the session is in memory only. */
  readonly place: StorePlace | undefined;
  /**
   * Returns the latest known content, without waiting. If the store cannot be read, the content
   * stays the same.
   */
  peek(): Stored;
  /**
   * Requests the latest content from a server, so that `peek()` returns it. Absent if `peek()`
   * itself reads the latest content.
   *
   * @throws {ConfigError} If the store cannot be used, or if it is needed but cannot be reached.
   */
  look?(wait: WaitOptions): Promise<void>;
  /**
   * Takes the lock, reads the content, calls `decide`, writes the result and releases the lock. If
   * another process writes without the lock, `decide` is called again, so it must be repeatable.
   */
  update(wait: WaitOptions, decide: Decide): Promise<Updated>;
  /**
   * Returns an error if the store belongs to another account and cannot keep the tokens of a login.
   *
   * @param login The user name of the login (before a password is sent), or the tokens of the
   * login.
   */
  refusal?(login: string | Tokens): ConfigError | undefined;
  /**
   * Checks everything that a session needs from the store, and leaves nothing behind.
   * @throws {AuthError}
   */
  probe?(signal: AbortSignal | undefined): Promise<void>;
}

/** Maximum number of attempts at an update while another process writes at the same time. */
export const MAX_ROUNDS = 5;

/**
 * Makes the error for a busy lock. Because a lock in a store expires by itself, a busy lock is
 * still in use. A refresh without the lock would end the session for all processes if refresh
 * tokens rotate.
 */
export function lockBusy(place: "store" | ".env"): ProviderError {
  return new ProviderError(
    "TIMEOUT",
    `Cannot refresh the session: another process held the lock of the ${place} for too long`,
    "try again, or end that process",
  );
}

/** A store that keeps the session in memory only. */
export const MEMORY_ONLY: TokenStore = {
  place: undefined,
  peek: () => NOTHING,
  update: async (_, decide) => {
    await decide(NOTHING, { isHeld: false });
    return { stored: NOTHING };
  },
};

/** Names the place in a message. */
export function placeText(place: StorePlace | undefined): string | undefined {
  return place && ("envFile" in place ? place.envFile : `the store at ${place.store}`);
}
