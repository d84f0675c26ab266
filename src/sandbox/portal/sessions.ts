import { addEntry } from "../records.ts";

/** A browser that is signed in to the portal. */
export interface PortalSession {
  id: string;
  /** The name that tokens are issued to; the provider's own, with an alias sign-in a UUID. */
  username: string;
  /** The name that was typed, to greet with. */
  displayName: string;
  /** Secret that every form and script of this session sends back with a POST. */
  csrf: string;
  expiresAt: number;
}

/** A working day: long enough for a class, short enough for a forgotten browser. */
const SESSION_MS = 8 * 60 * 60 * 1000;

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
}

/** The sessions of one portal, held in memory: what is deleted here is signed out. */
export class PortalSessions {
  readonly #sessions = new Map<string, PortalSession>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts a session under a new id, so an id known before the sign-in is worth nothing after it. */
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

  /** The session with this id, unless it is over. */
  find(id: string | undefined): PortalSession | undefined {
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined) return undefined;
    if (session.expiresAt > this.#now()) return session;
    this.#sessions.delete(session.id);
    return undefined;
  }

  /** Sessions end in the order of their start, so the first one that goes on ends the search. */
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
