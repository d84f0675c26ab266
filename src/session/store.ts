import type { AuthError, ConfigError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/** A session as its store knows it. */
export interface StoredSession {
  /** Replaced when the settings change. */
  readonly configuration: Configuration;
  readonly notices: Notices;
}

/** The content of a store: the same object until it changes. */
export interface Stored {
  readonly tokens: Tokens | undefined;
}

export const NOTHING: Stored = { tokens: undefined };

/** The lock under which an update is made. */
export interface Lock {
  readonly isHeld: boolean;
  /** Why it is not held. Absent if this store cannot have a lock. */
  readonly problem?: AuthError | undefined;
  /**
   * Whether a refresh may proceed without it, because its holder may never release it. Otherwise only
   * logins and logouts may.
   */
  readonly isOptional?: boolean;
}

/** What an update writes. */
export interface Write {
  /** `undefined` removes the tokens. */
  readonly tokens: Tokens | undefined;
  /**
   * What it replaces. `user`, a login or a logout: everything. `refresh`: only what `decide` saw; if
   * something else was written since, `decide` is called again. `refusal`: the same, and it gives
   * way to tokens that a late holder of the lock still writes.
   */
  readonly by: "user" | "refresh" | "refusal";
}

/** Decides what to write; `undefined` leaves the store unchanged. */
export type Decide = (now: Stored, lock: Lock) => Promise<Write | undefined>;

/** The outcome of an update. */
export interface Updated {
  readonly stored: Stored;
  /** Why the tokens could not be written. */
  readonly problem?: ConfigError | undefined;
}

export interface Wait {
  /** Time limit of the wait for the lock, in milliseconds. */
  readonly ms: number;
  /** Whether the caller has no valid token without the store, so that an unreachable one is retried. */
  readonly isNeeded: boolean;
  /** Ends the wait; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another process already did what the lock is wanted for. */
  isServed?(): boolean;
}

/** The location of the store, for the status and for messages. */
export type Place = { readonly envFile: string } | { readonly store: string };

/** Shares a session with other processes. */
export interface TokenStore {
  /** `undefined`: in memory only. */
  readonly place: Place | undefined;
  /** The latest known content, without waiting. A store that cannot be read is unchanged. */
  peek(): Stored;
  /**
   * Asks a server for the latest, so that `peek()` returns it. Absent if `peek()` reads it itself.
   *
   * @throws {ConfigError} If the store cannot be used, or is needed and cannot be reached.
   */
  look?(wait: Wait): Promise<void>;
  /**
   * Takes the lock, reads, lets `decide` choose, writes, and frees the lock. If another process writes
   * without the lock, `decide` is called again, so it must be repeatable.
   */
  update(wait: Wait, decide: Decide): Promise<Updated>;
  /**
   * Why this store cannot keep the tokens of a login: it belongs to another account.
   *
   * @param login Its user name before a password is sent, or the tokens that it brought.
   */
  refusal?(login: string | Tokens): ConfigError | undefined;
  /** Tests everything that a session depends on, and leaves nothing behind. @throws {AuthError} */
  probe?(signal: AbortSignal | undefined): Promise<void>;
}

/** The limit of repetitions of an update while another process writes at the same time. */
export const MAX_ROUNDS = 5;

/** Shares a session with no other process. */
export const MEMORY_ONLY: TokenStore = {
  place: undefined,
  peek: () => NOTHING,
  update: async (_, decide) => {
    await decide(NOTHING, { isHeld: false });
    return { stored: NOTHING };
  },
};

/** The place in a message. */
export function placeText(place: Place | undefined): string | undefined {
  return place && ("envFile" in place ? place.envFile : `the store at ${place.store}`);
}
