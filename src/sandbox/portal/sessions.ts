import { addEntry } from "../records.ts";

/** A browser that is signed in to the portal. */
export interface PortalSession {
  id: string;
  /** The provider's own name for the user, to which tokens are issued. */
  username: string;
  /** The name that was typed, to show on the page. */
  displayName: string;
  /** Secret that the forms and the script of this session send with each POST. */
  csrf: string;
  /** What was pasted into the authenticator page. */
  authenticatorSecret?: string;
  expiresAt: number;
}

/** A working day: long enough for a class; a browser left open is signed out by the next day. */
const SESSION_MS = 8 * 60 * 60 * 1000;

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
}

/** The sessions of one portal, in memory: to delete one is to sign it out. */
export class PortalSessions {
  readonly #sessions = new Map<string, PortalSession>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts a session with a new id, so that an id from before the login is of no use. */
  start(username: string, displayName: string): PortalSession {
    this.#dropEnded();
    const session = {
      id: randomId(),
      username,
      displayName,
      csrf: randomId(),
      expiresAt: this.#now() + SESSION_MS,
    };
    addEntry(this.#sessions, session.id, session);
    return session;
  }

  /** The session with this id, unless it has ended. */
  find(id: string | undefined): PortalSession | undefined {
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined) return undefined;
    if (session.expiresAt > this.#now()) return session;
    this.#sessions.delete(session.id);
    return undefined;
  }

  /** All sessions last equally long, so the oldest end first and the search can stop early. */
  #dropEnded(): void {
    for (const [id, { expiresAt }] of this.#sessions) {
      if (expiresAt > this.#now()) return;
      this.#sessions.delete(id);
    }
  }

  /** Forgets the session with this id. */
  end(id: string | undefined): void {
    if (id !== undefined) this.#sessions.delete(id);
  }

  /** Forgets the sessions of a user, or all. */
  endAll(username?: string): void {
    for (const session of this.#sessions.values()) {
      if (username === undefined || session.username === username) this.end(session.id);
    }
  }
}
