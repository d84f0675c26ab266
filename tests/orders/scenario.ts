/** An operation of one session, or an event that affects all of them. */
export interface Op {
  /** The session that does it, from 0. */
  readonly by: number;
  readonly do:
    | "login"
    | "join"
    | "refresh"
    | "token"
    | "long-token"
    | "fetch"
    | "logout"
    | "everywhere"
    /** The access token ends. */
    | "expiry"
    /** The API rejects every access token that was issued so far. */
    | "rejection"
    /** The provider ends every login. */
    | "revocation";
  /** Operations with the same name end by one abort, at any time. */
  readonly signal?: string;
  /** Begins only after the operation with this index began. */
  readonly after?: number;
}

/** How often what may go wrong, and what takes its time. */
export interface Budget {
  /** Answers of the provider that never come. */
  readonly losses?: number;
  /** Answers that come after the deadline. */
  readonly late?: number;
  /** Requests that receive a 503. */
  readonly refusals?: number;
  /** Refreshes for which a login or a logout does not wait any longer. */
  readonly impatience?: number;
  /** Writes that fail. */
  readonly failedWrites?: number;
  /** Waits for the lock that end before the lock is free. */
  readonly busy?: number;
  /** Whether time passes between a write and its confirmation. */
  readonly slowWrites?: boolean;
  /** Whether calls to the API take time. */
  readonly slowApi?: boolean;
}

export interface Scenario extends Budget {
  readonly name: string;
  readonly sessions: number;
  /** Whether each refresh replaces the refresh token. */
  readonly rotates: boolean;
  /** How a store tells that it holds something else. */
  readonly store: "by text" | "by number";
  /** How it begins. Default: with a session that all know, whose access token is good. */
  readonly begins?: "due" | "rejected" | "signed out";
  readonly ops: readonly Op[];
  /** The session whose process may be killed at any time. */
  readonly crash?: number;
}
