import { type AuthError, type ConfigError, ProviderError } from "../../errors/errors.ts";
import type { SessionRecord } from "../../settings/session_store.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";

/** A session as its vault knows it. */
export interface StoredSession {
  /** Replaced when the settings change. */
  readonly configuration: Configuration;
  readonly notices: Notices;
}

/** The lines of a session, as in a `.env`. A session that ended has no lines. */
export type Lines = SessionRecord;

/** The location of a vault, for the status and for messages. */
export type Place = { readonly envFile: string } | { readonly store: string };

/** The only account whose session a vault keeps. */
export interface Owner {
  /** `undefined` if its name is not known. */
  readonly account: string | undefined;
}

export interface Wait {
  /** Maximum time to wait, in milliseconds. */
  readonly ms: number;
  /** Whether the caller needs the response, because it has no valid token. */
  readonly isNeeded: boolean;
  /** Ends the wait. The signal's reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
}

export interface LockWait extends Pick<Wait, "ms" | "signal"> {
  /**
   * Receives what another process saved in a store while this one waits for the lock. Returns
   * whether the lock is no longer needed.
   */
  isServedBy?(lines: Lines | undefined): boolean;
  /** Whether the caller only removes lines. If so, no lock file is made for a missing `.env`. */
  readonly onlyRemoves?: boolean;
}

/**
 * The place that keeps the lines of a session and shares them with other processes: a `.env`, a
 * store, or nothing but this process.
 *
 * If the file is missing or cannot be read, or if the store lost its data, the lines are
 * `undefined`. The session in memory then continues.
 */
export interface Vault {
  /** `undefined` if the session is in memory only. */
  readonly place: Place | undefined;
  /** Absent if the vault keeps the session of any account. */
  readonly owner?: Owner | undefined;
  /** Returns the lines, unless they are on a server. Does not wait. */
  peek(): Lines | undefined;
  /**
   * Requests the lines from a server. Absent if `peek()` returns them.
   *
   * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` or `PACKAGE_UNAVAILABLE` if the store
   * cannot be used; `STORE_UNREACHABLE` if the lines are needed but the store cannot be reached.
   */
  read?(wait: Wait): Promise<Lines | undefined>;
  /**
   * Takes the lock, which all processes with this vault share, and reads the lines. If the lock
   * cannot be taken, the result has a `problem`.
   */
  lock(wait: LockWait): Promise<Lock>;
}

/**
 * The lock of a vault, with the methods that read and write under it. Disposal releases the lock.
 */
export interface Lock extends AsyncDisposable {
  readonly isHeld: boolean;
  /** The reason why the lock is not held. Absent if this vault has no lock. */
  readonly problem?: AuthError | undefined;
  /**
   * Whether a write may proceed without the lock, because its holder may never release it. If not,
   * nothing is written without the lock.
   */
  readonly isOptional?: boolean;
  /** The lines that were read last under this lock. */
  readonly now: Lines | undefined;
  /** Reads the lines again. */
  read(): Promise<Lines | undefined>;
  /**
   * Writes lines. Called at most once, as the last step under the lock.
   *
   * @param isFinal Whether the lines replace whatever the vault contains, as after a login or a
   * logout. If not, they are written only if no other process has changed the lines in `now`.
   */
  write(lines: Lines, isFinal: boolean): Promise<Written>;
}

/** The outcome of a write. */
export interface Written {
  /** The lines in the vault now. If another process wrote first, its lines are kept. */
  readonly found: Lines | undefined;
  /** The reason why the lines could not be written. */
  readonly problem?: ConfigError | undefined;
}

/**
 * Makes the error for a lock that stays busy. The call fails, because if refresh tokens rotate, a
 * refresh without the lock could end the session for all processes.
 */
export function lockBusy(place: "store" | ".env"): ProviderError {
  return new ProviderError(
    "TIMEOUT",
    `Cannot refresh the session: another process held the lock of the ${place} for too long`,
    "try again, or end that process",
  );
}

/**
 * Makes a vault that keeps nothing outside this process.
 *
 * @param problem Makes the error for tokens that are not saved although a user may expect it.
 */
export function memoryVault(problem: () => ConfigError | undefined = () => undefined): Vault {
  const lock: Lock = {
    isHeld: false,
    now: undefined,
    read: () => Promise.resolve(undefined),
    write: (lines) =>
      Promise.resolve({ found: lines, problem: "ACCESS_TOKEN" in lines ? problem() : undefined }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { place: undefined, peek: () => undefined, lock: () => Promise.resolve(lock) };
}

/** Where a session is stored if the program passed its own store object. */
export const OWN_PLACE = { store: "the program's store" };

/** Names the place in a message. */
export function placeText(place: Place | undefined): string | undefined {
  if (place === undefined || "envFile" in place) return place?.envFile;
  return storeText(place.store);
}

/** @param store The store, as a status shows it. */
export function storeText(store: string): string {
  return store === OWN_PLACE.store ? store : `the store at ${store}`;
}
