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
   * Whether a refresh may proceed without the lock, because its holder may never release it. If
   * not, only logins and logouts may proceed without the lock.
   */
  readonly isOptional?: boolean;
}

/** The content that a change writes. Tokens that are `undefined` are removed. */
export interface Write extends Stored {
  /**
   * Whether the write replaces any content, as a login or a logout does. Any other write is dropped
   * if another process changed the content after this session last adopted it.
   */
  readonly isFinal: boolean;
}

/**
 * Decides what to write; `undefined` leaves the store unchanged. The function must not start
 * another update, which would wait forever for the update that calls the function.
 */
export type Change = (now: Stored, lock: Lock) => Promise<Write | undefined>;

/** The outcome of an update. */
export interface Updated {
  /**
   * What the store contains now. If this differs from what was to be written, the store kept the
   * write of another process.
   */
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
  /** Ends the wait for the lock. The signal's reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Whether other work has made the change superfluous, so that the lock is no longer needed. */
  isServed?(): boolean;
  /** Whether the change only removes tokens. If so, no lock file is made for a missing `.env`. */
  readonly onlyRemoves?: boolean;
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
   * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` or `PACKAGE_UNAVAILABLE` if the store
   * cannot be used; `STORE_UNREACHABLE` if the store is needed but cannot be reached.
   */
  look?(wait: WaitOptions): Promise<void>;
  /**
   * Takes the lock, reads the content, calls `change` once, writes the result and releases the
   * lock. If the lock cannot be taken, calls `change` with a lock that has a `problem`.
   */
  update(wait: WaitOptions, change: Change): Promise<Updated>;
  /**
   * Returns an error if the store belongs to another account and cannot keep the tokens of a login.
   *
   * @param login The user name of the login (before a password is sent), or the tokens of the
   * login.
   */
  refusal?(login: string | Tokens): ConfigError | undefined;
  /**
   * Checks everything that a session needs from the store, and leaves nothing behind.
   * @throws {AuthError} If a session could not use the store: `STORE_UNREACHABLE`, `TIMEOUT` for a
   * busy lock, or a code of `look()`.
   */
  probe?(signal: AbortSignal | undefined): Promise<void>;
}

/** The share of a call's time limit that each step of a probe may use. */
export const PROBE_SHARE = 0.25;

/**
 * Makes the error for a lock that stays busy. The call fails rather than refresh without the lock,
 * which would end the session for all processes if refresh tokens rotate.
 */
export function lockBusy(place: "store" | ".env"): ProviderError {
  return new ProviderError(
    "TIMEOUT",
    `Cannot refresh the session: another process held the lock of the ${place} for too long`,
    "try again, or end that process",
  );
}

/** Makes a store that keeps the session in memory only. */
export function memoryStore(): TokenStore {
  let stored = NOTHING;
  return {
    place: undefined,
    peek: () => stored,
    update: async (_, change) => ({ stored: stored = await change(stored, UNSHARED) ?? stored }),
  };
}

const UNSHARED: Lock = { isHeld: false };

/** Where a session is stored if the program passed its own store object. */
export const OWN_PLACE = { store: "the program's store" };

/** Names the place in a message. */
export function placeText(place: StorePlace | undefined): string | undefined {
  if (place === undefined || "envFile" in place) return place?.envFile;
  return storeText(place.store);
}

/** @param store The store, as a status shows it. */
export function storeText(store: string): string {
  return store === OWN_PLACE.store ? store : `the store at ${store}`;
}
