/** The further steps of a login, as users see them. */
import type { ChallengeAsk } from "../../provider/challenges.ts";
import { AuthError, type ChallengeErrorCode } from "../../errors/errors.ts";
import type { Fix } from "../../errors/advice.ts";
import type { Secret } from "../../platform/secret.ts";
import { printable } from "../../errors/escape.ts";

/**
 * A further step that the provider requires during a login, such as a one-time code.
 *
 * @example A code in a script
 * ```ts
 * import { configure, login } from "@platform-auth/platform-auth";
 * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
 *
 * await using sandbox = await startSandbox({ challenge: "SOFTWARE_TOKEN_MFA" });
 * configure(sandbox.settings);
 * const status = await login({
 *   onChallenge: async ({ asks, refused }) => {
 *     if (refused) throw new Error(refused); // without this line, onChallenge is called up to three times
 *     console.log(asks[0]?.prompt); // Code from your authenticator app (Authenticator):
 *     return { SOFTWARE_TOKEN_MFA_CODE: await sandbox.totp() };
 *   },
 * });
 * console.log(status.state); // valid
 * ```
 */
export interface Challenge {
  /** The provider's name of the step, such as `SOFTWARE_TOKEN_MFA`. */
  readonly name: string;
  /** The parameters that the provider sent, without secrets. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The values that an answer must contain; empty if this module cannot answer the step. */
  readonly asks: readonly ChallengeAsk[];
  /** The number of this attempt, from 1 to 3. Each refused answer leads to the next attempt. */
  readonly attempt: number;
  /** The provider's reason for refusing the previous answer. */
  readonly refused?: string;
  /** The key for the authenticator app, only in `MFA_SETUP`. Logs do not show the key. */
  readonly authenticator?: AuthenticatorKey;
}

/**
 * The answer to a {@linkcode Challenge}. The keys are the names in the challenge's `asks`, as in
 * `{ SMS_MFA_CODE: "123456" }`.
 */
export type Answers = Readonly<Record<string, string>>;

/**
 * The key from which an authenticator app makes its codes. The key is a secret, and logs do not
 * show it. If your notebook shows the key, clear that output before you save the notebook.
 */
export interface AuthenticatorKey {
  /** The key as text in base32, to be typed into the app. */
  readonly secret: string;
  /** The key as an `otpauth:` address, the content of the QR code that apps scan. */
  readonly address: string;
}

/** A key that appears as `[authenticator key]` in logs, strings and JSON. */
export class HiddenKey implements AuthenticatorKey {
  readonly #secret: Secret;
  readonly #account: string;
  readonly #issuer: string;

  constructor(secret: Secret, account: string, issuer: string) {
    this.#secret = secret;
    this.#account = account;
    this.#issuer = issuer;
  }

  get secret(): string {
    return this.#secret.reveal();
  }

  get address(): string {
    const [issuer, account] = [this.#issuer, this.#account].map(encodeURIComponent);
    return `otpauth://totp/${issuer}:${account}?secret=${this.secret}&issuer=${issuer}`;
  }

  toString(): string {
    return "[authenticator key]";
  }

  toJSON(): string {
    return String(this);
  }

  [Symbol.for("Deno.customInspect")](): string {
    return String(this);
  }
}

/** Returns the key in groups of four characters, which are easier to type. */
export function groupedKey({ secret }: AuthenticatorKey): string {
  return secret.replace(/(.{4})(?=.)/g, "$1 ");
}

/** The warning under a displayed key. */
export const KEY_WARNING =
  "Anyone who has this key can make your codes. If the key is still shown after the login, clear this output.";

/** Returns a key as text, with instructions. */
export function keyText(key: AuthenticatorKey): string {
  return [
    "Add this key to your authenticator app: type the key, or open the address.",
    `  key:     ${groupedKey(key)}`,
    `  address: ${key.address}`,
    KEY_WARNING,
  ].map(printable).join("\n");
}

/**
 * The login needs a further step that nobody answered, or the answer to a step was refused. A
 * notebook and a terminal prompt for the answer; a program passes `login({ onChallenge })`.
 */
export class ChallengeError extends AuthError {
  /** The cause, for programs: see {@linkcode ChallengeErrorCode}. */
  declare readonly code: ChallengeErrorCode;
  /** The step, and what an answer must contain. */
  readonly challenge: Challenge;

  /** @ignore */
  constructor(code: ChallengeErrorCode, problem: string, fix: Fix, challenge: Challenge) {
    super(code, problem, fix);
    this.challenge = challenge;
  }
}
