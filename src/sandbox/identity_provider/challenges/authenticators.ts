import { Secret, TOTP, URI } from "npm:otpauth@9.5.2";
import type { Account } from "../../accounts.ts";
import { addEntry } from "../../records.ts";

interface Authenticator {
  readonly totp: TOTP;
  /** Whether the user has entered a code of this authenticator. */
  verified: boolean;
  /** The latest step of 30 seconds whose code was used. */
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
   * Returns a new secret for the user's authenticator, in base32. It replaces an earlier secret
   * that was not verified.
   */
  associate(account: Account): string {
    return this.#add(account, false).totp.secret.base32;
  }

  /** The code that the user's authenticator shows now. */
  code(account: Account): string | undefined {
    return this.#of(account)?.totp.generate({ timestamp: this.#now() });
  }

  /**
   * The current code of an authenticator with this secret. Without a secret, the code of the user's
   * authenticator, if one is set up.
   */
  shownCode(account: Account, secret: string | undefined): string | undefined {
    if (secret === undefined) return this.has(account) ? this.code(account) : undefined;
    return totpIn(secret)?.generate({ timestamp: this.#now() });
  }

  /**
   * Checks a code. The phone's clock may differ by one step of 30 seconds. A code works only once.
   */
  check(account: Account, code: string): CodeCheck {
    const authenticator = this.#of(account);
    if (authenticator === undefined) return "wrong";
    const { totp } = authenticator;
    const timestamp = this.#now();
    const drift = totp.validate({ token: code, timestamp, window: 1 });
    if (drift === null) return "wrong";
    const step = totp.counter({ timestamp }) + drift;
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
    const totp = new TOTP({ secret: new Secret({ size: 32 }) });
    const authenticator = { totp, verified, usedStep: -1 };
    addEntry(this.#byUsername, account.username, authenticator);
    return authenticator;
  }
}

/** Reads the secret of an authenticator app as people paste it: in base32 or in an otpauth address. */
export function totpIn(text: string): TOTP | undefined {
  try {
    const totp = /^otpauth:/i.test(text) ? URI.parse(text) : new TOTP({ secret: text });
    // Any short word could be read as base32, too.
    return totp instanceof TOTP && totp.secret.bytes.length >= 10 ? totp : undefined;
  } catch {
    return undefined;
  }
}
