import type { Account } from "../accounts.ts";
import { addEntry } from "../records.ts";

/** A browser that is signed in to the portal. */
export interface PortalSession {
  readonly id: string;
  readonly account: Account;
  /** The name that was typed, to show on the page. */
  readonly displayName: string;
  /** The secret that was pasted into the authenticator page. */
  authenticatorSecret?: string;
  readonly expiresAt: number;
}

/**
 * Lifetime of a session in milliseconds: a working day. It is longer than a class, and ends before
 * the next day.
 */
const SESSION_MS = 8 * 60 * 60 * 1000;

/** The sessions of one portal. Deleting one signs its browser out. */
export class PortalSessions {
  readonly #sessions = new Map<string, PortalSession>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Starts a session with a new id. An id that an attacker set before the login is therefore
   * useless.
   */
  start(account: Account, displayName: string): PortalSession {
    const id = crypto.getRandomValues(new Uint8Array(33)).toBase64({ alphabet: "base64url" });
    const session = { id, account, displayName, expiresAt: this.#now() + SESSION_MS };
    addEntry(this.#sessions, id, session);
    return session;
  }

  /** The session with this id, unless it has ended. */
  find(id: string | undefined): PortalSession | undefined {
    const session = this.#sessions.get(id ?? "");
    return session && session.expiresAt > this.#now() ? session : undefined;
  }

  /** Ends the session with this id. */
  end(id: string | undefined): void {
    this.#sessions.delete(id ?? "");
  }

  /** Ends the sessions of a user, or of all users. */
  endAll(account?: Account): void {
    for (const session of this.#sessions.values()) {
      if (account === undefined || session.account === account) this.end(session.id);
    }
  }
}
