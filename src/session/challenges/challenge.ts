/** The further steps of a login, as users see them. */
import type { ChallengeAsk } from "../../provider/challenges.ts";
import { AuthError, type ChallengeErrorCode } from "../../errors/errors.ts";
import type { Fix } from "../../errors/advice.ts";
import type { Secret } from "../../platform/secret.ts";
import type { SessionStatus } from "../status.ts";
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
  /**
   * The key for the authenticator app, only in `MFA_SETUP`. The property is not enumerable, so logs
   * do not show it.
   */
  readonly authenticator?: AuthenticatorKey;
}

/**
 * The answer to a {@linkcode Challenge}. The keys are the names in the challenge's `asks`, as in
 * `{ SMS_MFA_CODE: "123456" }`.
 */
export type Answers = Readonly<Record<string, string>>;

/**
 * The key from which an authenticator app makes its codes. The key is a secret. Logs do not show
 * the key, but a notebook shows a key that is the value of a cell. Clear that output before you
 * save the notebook.
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
 * The login needs a further step, or the answer to a step was refused. `respond()` answers the step
 * and continues the login, even in a later cell, until the provider's time limit (typically 3
 * minutes).
 */
export class ChallengeError extends AuthError {
  /** The cause, for programs: see {@linkcode ChallengeErrorCode}. */
  declare readonly code: ChallengeErrorCode;
  /** The step, and what an answer must contain. */
  readonly challenge: Challenge;
  readonly #respond: Respond | undefined;

  /** @ignore */
  constructor(
    code: ChallengeErrorCode,
    problem: string,
    fix: Fix,
    challenge: Challenge,
    respond?: Respond,
  ) {
    super(code, problem, fix);
    this.challenge = challenge;
    this.#respond = respond;
  }

  /**
   * Answers the current step of this login, and saves the tokens as `login()` does, unless a later
   * login or logout has taken effect.
   *
   * @param answers The values. The keys are the names in `challenge.asks`.
   * @throws {ChallengeError} `CHALLENGE_REQUIRED` if there is another step; `CODE_REJECTED` or
   * `NEW_PASSWORD_REJECTED` if the answer was refused; `CHALLENGE_EXPIRED` if the login must start
   * again.
   * @throws {ProviderError} If the provider refused for another reason or could not be reached:
   * `UNREACHABLE`, `TIMEOUT` and others.
   * @throws {TypeError} If the answers do not match `challenge.asks`; nothing was sent.
   *
   * @example A code in the next cell
   * ```ts
   * import { ChallengeError, createSession } from "@platform-auth/platform-auth";
   * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
   *
   * await using sandbox = await startSandbox({ challenge: "SMS_MFA" });
   * const session = createSession(sandbox.settings);
   * try {
   *   await session.login({ strategy: "environment" });
   * } catch (error) {
   *   if (!(error instanceof ChallengeError)) throw error;
   *   const SMS_MFA_CODE = sandbox.codes.at(-1)?.code ?? ""; // from the phone
   *   console.log((await error.respond({ SMS_MFA_CODE })).state); // valid
   * }
   * ```
   */
  respond(answers: Answers): Promise<SessionStatus> {
    return this.#respond === undefined ? Promise.reject(this) : this.#respond(answers);
  }
}

type Respond = (answers: Answers) => Promise<SessionStatus>;
