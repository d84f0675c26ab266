import type { Account } from "../../accounts.ts";
import { addEntry } from "../../records.ts";
import type { SentCode } from "./sent_codes.ts";
import { invalidParameter, notAuthorized } from "../wire_format.ts";

/** A login with a correct password that still has challenges to pass. */
export interface Login {
  readonly account: Account;
  /** The remaining challenges. The first in the list is the current challenge. */
  steps: readonly string[];
  /** The device of the login, if the request named one. */
  readonly deviceKey: string | undefined;
  /** The code that was sent for the current challenge. */
  sent?: SentCode | undefined;
  /** Number of wrong answers to the current challenge. */
  failures: number;
  /** Whether an authenticator was set up during the current challenge. */
  authenticatorVerified: boolean;
}

interface Entry {
  readonly login: Login;
  readonly expiresAt: number;
  used: boolean;
}

const LIFETIME_MS = 180_000;
const TRIES = 3;

/**
 * The sessions of logins that still have challenges to pass. A session ends when
 * an answer is accepted.
 */
export class LoginSessions {
  #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Opens a session for the answer to the current challenge. Returns its id. */
  open(login: Login): string {
    const session = crypto.getRandomValues(new Uint8Array(96)).toBase64({ alphabet: "base64url" });
    const expiresAt = this.#now() + LIFETIME_MS;
    addEntry(this.#entries, session, { login, expiresAt, used: false });
    return session;
  }

  /** @throws {ServiceError} If the session does not exist, was used or has expired. */
  find(session: string): Login {
    if (session.length < 20 || session.length > 2048) {
      throw invalidParameter(
        "1 validation error detected: Value at 'session' failed to satisfy constraint: " +
          "Member must have length between 20 and 2048",
      );
    }
    const entry = this.#entries.get(session);
    if (entry?.used) {
      throw notAuthorized("Invalid session for the user, session can only be used once.");
    }
    if (entry === undefined || this.#now() >= entry.expiresAt) {
      throw notAuthorized("Invalid session for the user, session is expired.");
    }
    return entry.login;
  }

  /** Marks a session as used. */
  use(session: string): void {
    const entry = this.#entries.get(session);
    if (entry !== undefined) entry.used = true;
  }

  /**
   * Counts a wrong answer. The third wrong answer ends the session. Returns whether the session has
   * ended.
   */
  fail(session: string, login: Login): boolean {
    if (++login.failures < TRIES) return false;
    this.#entries.delete(session);
    return true;
  }
}
