import { checkChallenges } from "./challenges.ts";
import { checkFailure, type Failure } from "./failures.ts";

/** Whose header names and content type the token endpoint uses. */
export type Words = "vendor" | "aws";

/** How the sandbox behaves. Every option has a default and is checked. */
export interface SandboxOptions {
  /** Lifetime of an access token in seconds, reported as `ExpiresIn`. Default 1800. */
  accessTokenSeconds?: number;
  /** Lifetime of a refresh token in days, counted from the login. Default 30. */
  refreshDays?: number;
  /**
   * Header names and content type of the token endpoint. Default `"vendor"`: as the API document
   * has them. `"aws"`: as the public protocol has them.
   */
  words?: Words;
  /**
   * Whether a refresh replaces the refresh token. `false` (default): no. `true` or
   * `"initiate-auth"`: the answer has a new one, and the old one is refused from then on.
   * `"get-tokens"`: the same, but only the operation `GetTokensFromRefreshToken` can refresh.
   */
  rotateRefreshTokens?: boolean | "initiate-auth" | "get-tokens";
  /**
   * How long a replaced refresh token still works, in seconds, 0 to 60. Default 0. If it is used
   * again in that time, the token that it gave before stops working.
   */
  graceSeconds?: number;
  /** Users log in by e-mail, and the provider's own name for them is a UUID. Default false. */
  aliasSignIn?: boolean;
  /**
   * Wrong passwords in a row after which the user is locked, first for a second, then twice as long
   * after each further one, 900 seconds at most. Default: no lock.
   */
  lockoutAfter?: number;
  /** Requests that the token endpoint answers in one second. Default: no limit. */
  throttlePerSecond?: number;
  /**
   * The steps that each login with a right password has to pass, in order. Default: none.
   * NEW_PASSWORD_REQUIRED is asked once for a user. So is MFA_SETUP: later logins are asked for
   * SOFTWARE_TOKEN_MFA in its place. `totp()` and `codes` of the sandbox have the codes. Steps that
   * need SRP or a browser, such as WEB_AUTHN, are reported only.
   */
  challenge?: string | readonly string[];
  /**
   * Whether a login answers with a device, whose key each refresh must then have. The device must
   * be confirmed first. `"ask"`: the same, and the answer to ConfirmDevice says that the user may
   * choose to have the device remembered. `"withheld"`: each refresh must have a key, but no login
   * is given one, as some pools do; so none is accepted. Default false.
   */
  trackDevices?: boolean | "ask" | "withheld";
  /** Whether RevokeToken works and tokens have `origin_jti`. Default true. */
  revocation?: boolean;
  /** Whether a refresh may, must or must not have SECRET_HASH. Default `"optional"`. */
  refreshSecretHash?: "optional" | "required" | "forbidden";
  /** `false`: a public client, without secret and SECRET_HASH. Default: a fixed secret. */
  clientSecret?: string | false;
  /** Clock in milliseconds since 1970. Default `Date.now`. */
  now?: () => number;
  /** Delay before each answer of the provider and the API, in milliseconds. Default 0. */
  latencyMs?: number;
  /** Faults to inject. This list is copied; change `failures` of the sandbox later. */
  failures?: Failure[];
}

/** Options of `startSandbox()`: those of the sandbox and where to listen. */
export interface StartSandboxOptions extends SandboxOptions {
  /** First of three ports in a row: provider, portal, API. Default 0: any free ports. */
  port?: number;
}

/** Checked options with their defaults filled in. */
export interface SandboxConfig {
  readonly accessTokenSeconds: number;
  readonly refreshDays: number;
  readonly words: Words;
  readonly rotation: "off" | "initiate-auth" | "get-tokens";
  readonly graceSeconds: number;
  readonly aliasSignIn: boolean;
  readonly lockoutAfter: number | undefined;
  readonly throttlePerSecond: number | undefined;
  readonly challenge: readonly string[];
  readonly trackDevices: NonNullable<SandboxOptions["trackDevices"]>;
  readonly revocation: boolean;
  readonly refreshSecretHash: "optional" | "required" | "forbidden";
  readonly clientSecret: string | undefined;
  readonly now: () => number;
  readonly latencyMs: number;
  readonly failures: Failure[];
}

/** The same in every sandbox, so that a class can keep its `.env` when the sandbox restarts. */
export const CLIENT_ID = "sandboxclient0000000000001";
export const USER_POOL_ID = "sandbox-1_Classroom";
export const CLIENT_SECRET = "sandbox-only-client-secret-of-no-value-anywhere-else";

const NAMES: readonly (keyof SandboxOptions)[] = [
  "accessTokenSeconds",
  "refreshDays",
  "words",
  "rotateRefreshTokens",
  "graceSeconds",
  "aliasSignIn",
  "lockoutAfter",
  "throttlePerSecond",
  "challenge",
  "trackDevices",
  "revocation",
  "refreshSecretHash",
  "clientSecret",
  "now",
  "latencyMs",
  "failures",
];

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError} An option is unknown or of the wrong type.
 * @throws {RangeError} A number is out of its range.
 */
export function checkOptions(options: SandboxOptions = {}): SandboxConfig {
  for (const name of Object.keys(options)) {
    if (!(NAMES as readonly string[]).includes(name)) {
      throw new TypeError(
        `Cannot start the sandbox: there is no option "${name}"; use ${NAMES.join(", ")}`,
      );
    }
  }
  return {
    accessTokenSeconds: wholeNumber(
      "accessTokenSeconds",
      options.accessTokenSeconds ?? 1800,
      1,
      86400,
    ),
    refreshDays: inRange("refreshDays", options.refreshDays ?? 30, 0, 3650),
    words: oneOf("words", options.words ?? "vendor", ["vendor", "aws"]),
    rotation: rotation(options.rotateRefreshTokens ?? false),
    graceSeconds: inRange("graceSeconds", options.graceSeconds ?? 0, 0, 60),
    aliasSignIn: oneOf("aliasSignIn", options.aliasSignIn ?? false, [true, false]),
    lockoutAfter: options.lockoutAfter === undefined
      ? undefined
      : wholeNumber("lockoutAfter", options.lockoutAfter, 1, 1000),
    throttlePerSecond: options.throttlePerSecond === undefined
      ? undefined
      : wholeNumber("throttlePerSecond", options.throttlePerSecond, 1, 1_000_000),
    challenge: checkChallenges(
      options.challenge ?? [],
      'Cannot start the sandbox: option "challenge"',
    ),
    trackDevices: oneOf("trackDevices", options.trackDevices ?? false, [
      false,
      true,
      "ask",
      "withheld",
    ]),
    revocation: oneOf("revocation", options.revocation ?? true, [true, false]),
    refreshSecretHash: oneOf("refreshSecretHash", options.refreshSecretHash ?? "optional", [
      "optional",
      "required",
      "forbidden",
    ]),
    clientSecret: secret(options.clientSecret ?? CLIENT_SECRET),
    now: clock(options.now ?? Date.now),
    latencyMs: inRange("latencyMs", options.latencyMs ?? 0, 0, 600_000),
    failures: failureList(options.failures ?? []),
  };
}

/** Checks the first port; three in a row must fit. */
export function checkPort(port: number): number {
  return wholeNumber("port", port, 0, 65533);
}

function inRange(name: string, value: number, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(
      `Cannot start the sandbox: option "${name}" must be a number, got ${typeof value}`,
    );
  }
  if (!(value >= min && value <= max)) {
    throw new RangeError(
      `Cannot start the sandbox: option "${name}" must be ${min} to ${max}, got ${value}`,
    );
  }
  return value;
}

function wholeNumber(name: string, value: number, min: number, max: number): number {
  inRange(name, value, min, max);
  if (!Number.isInteger(value)) {
    throw new RangeError(
      `Cannot start the sandbox: option "${name}" must be a whole number, got ${value}`,
    );
  }
  return value;
}

function oneOf<T>(name: string, value: T, allowed: readonly T[]): T {
  if (!allowed.includes(value)) {
    const list = allowed.map((each) => JSON.stringify(each)).join(", ");
    throw new TypeError(
      `Cannot start the sandbox: option "${name}" must be one of ${list}, got ${
        JSON.stringify(value)
      }`,
    );
  }
  return value;
}

function rotation(
  value: NonNullable<SandboxOptions["rotateRefreshTokens"]>,
): SandboxConfig["rotation"] {
  const allowed = [false, true, "initiate-auth", "get-tokens"] as const;
  const checked = oneOf("rotateRefreshTokens", value, allowed);
  return checked === false ? "off" : checked === true ? "initiate-auth" : checked;
}

function secret(value: string | false): string | undefined {
  if (value === false) return undefined;
  if (typeof value !== "string" || value === "") {
    throw new TypeError(
      'Cannot start the sandbox: option "clientSecret" must be a text, not empty, ' +
        "or false for a public client",
    );
  }
  return value;
}

function clock(value: () => number): () => number {
  if (typeof value !== "function") {
    throw new TypeError(
      'Cannot start the sandbox: option "now" must be a function that returns milliseconds',
    );
  }
  return value;
}

function failureList(value: Failure[]): Failure[] {
  if (!Array.isArray(value)) {
    throw new TypeError('Cannot start the sandbox: option "failures" must be an array');
  }
  return value.map((failure) => ({ ...checkFailure(failure) }));
}
