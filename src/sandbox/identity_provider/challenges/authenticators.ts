import type { Account } from "../../accounts.ts";
import { addEntry } from "../../records.ts";
import { authenticatorKey, toBase32, totpCode, totpStep } from "./totp.ts";

interface Authenticator {
  readonly key: Uint8Array;
  /** Whether the user has entered a code of this authenticator. */
  verified: boolean;
  /** The latest step whose code was used. */
  usedStep: number;
}

/** Result of checking a code. */
export type CodeCheck = "ok" | "wrong" | "used";

/**
 * The users' authenticator apps: the secrets, the codes that the apps show, and the check of a
 * code.
 */
export class Authenticators {
  #byUsername = new Map<string, Authenticator>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether the user has set up an authenticator. */
  has(account: Account): boolean {
    return this.#of(account)?.verified === true;
  }

  /**
   * Returns a new secret for the user's authenticator, in base32. The secret replaces one that was
   * never verified.
   */
  associate(account: Account): string {
    return toBase32(this.#add(account, false).key);
  }

  /** The code that the user's authenticator shows now. */
  code(account: Account): string | undefined {
    const key = this.#of(account)?.key;
    return key && totpCode(key, totpStep(this.#now()));
  }

  /**
   * The current code of an authenticator with this secret. Without a secret, the code of the user's
   * authenticator, if one is set up.
   */
  shownCode(account: Account, secret: string | undefined): string | undefined {
    if (secret === undefined) return this.has(account) ? this.code(account) : undefined;
    const key = authenticatorKey(secret);
    return key && totpCode(key, totpStep(this.#now()));
  }

  /**
   * Checks a code. The phone's clock may differ by one step of 30 seconds. A code works only once.
   */
  check(account: Account, code: string): CodeCheck {
    const authenticator = this.#of(account);
    if (authenticator === undefined) return "wrong";
    const now = totpStep(this.#now());
    const step = [now, now - 1, now + 1].find((each) => totpCode(authenticator.key, each) === code);
    if (step === undefined) return "wrong";
    if (step <= authenticator.usedStep) return "used";
    authenticator.usedStep = step;
    authenticator.verified = true;
    return "ok";
  }

  /**
   * Returns the user's authenticator. If a user's logins require a code but no setup, the
   * authenticator is created when it is first needed.
   */
  #of(account: Account): Authenticator | undefined {
    const known = this.#byUsername.get(account.username);
    const { challenges } = account;
    const needed = challenges.includes("SOFTWARE_TOKEN_MFA") ||
      challenges.includes("SELECT_MFA_TYPE");
    if (known !== undefined || !needed || challenges.includes("MFA_SETUP")) return known;
    return this.#add(account, true);
  }

  #add(account: Account, verified: boolean): Authenticator {
    const key = crypto.getRandomValues(new Uint8Array(32));
    const authenticator = { key, verified, usedStep: -1 };
    addEntry(this.#byUsername, account.username, authenticator);
    return authenticator;
  }
}
