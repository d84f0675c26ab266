import { checkChallenges } from "./challenges.ts";
import { checkFailure, type Failure } from "./failures.ts";

/** The provider whose header names and content type the token endpoint uses. */
export type Words = "vendor" | "aws";

/** How the sandbox behaves. Every option has a default and is checked. */
export interface SandboxOptions {
  /** Lifetime of an access token in seconds, sent as `ExpiresIn`. Default 1800. */
  accessTokenSeconds?: number;
  /** Lifetime of a refresh token in days, from the login. Default 30. */
  refreshDays?: number;
  /**
   * Whose header names and content type the token endpoint uses. `"vendor"` (default): the names of
   * the API document. `"aws"`: the names of the public Cognito protocol.
   */
  words?: Words;
  /**
   * Whether a refresh replaces the refresh token. `false` (default): no. `true` or
   * `"initiate-auth"`: the response to a refresh contains a new refresh token, and the old token is
   * refused from then on. `"get-tokens"`: as `true`, but only the operation
   * `GetTokensFromRefreshToken` can refresh.
   */
  rotateRefreshTokens?: boolean | "initiate-auth" | "get-tokens";
  /**
   * Seconds for which a replaced refresh token still works, 0 to 60. Default 0. If a client uses
   * the replaced token again in these seconds, the token that the first use returned becomes
   * invalid.
   */
  graceSeconds?: number;
  /** Users log in by e-mail, and their user name in the pool is a UUID. Default false. */
  aliasSignIn?: boolean;
  /**
   * Locks a user after this many wrong passwords in a row. The first lock lasts one second; each
   * further wrong password doubles the time, up to 900 seconds. Default: never.
   */
  lockoutAfter?: number;
  /** Requests per second that the token endpoint accepts. Default: no limit. */
  throttlePerSecond?: number;
  /**
   * The challenges that each login must pass after the password, in order. Default: none.
   * Each user gets NEW_PASSWORD_REQUIRED and MFA_SETUP only once. Later logins get
   * SOFTWARE_TOKEN_MFA instead of MFA_SETUP. `totp()` and `codes` of the sandbox return the codes.
   * Challenges that need SRP or a browser, such as WEB_AUTHN, are sent, but no answer to them is
   * accepted.
   */
  challenge?: string | readonly string[];
  /**
   * Whether a login returns a device key, which each refresh must then contain. The client must
   * confirm the device before the first refresh. `"ask"`: as `true`, and the response to
   * ConfirmDevice says that the user may choose to have the device remembered. `"withheld"`: each
   * refresh must contain a device key, but, as in some pools, no login returns a key, so no refresh
   * is accepted. Default false.
   */
  trackDevices?: boolean | "ask" | "withheld";
  /** Whether RevokeToken works and tokens contain `origin_jti`. Default true. */
  revocation?: boolean;
  /** Whether a refresh may, must or must not contain SECRET_HASH. Default `"optional"`. */
  refreshSecretHash?: "optional" | "required" | "forbidden";
  /** `false`: a public client, without a secret and SECRET_HASH. Default: a fixed secret. */
  clientSecret?: string | false;
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  now?: () => number;
  /** Delay before each response of the provider and the API, in milliseconds. Default 0. */
  latencyMs?: number;
  /** Faults to inject. The list is copied; to change it later, use `failures` of the sandbox. */
  failures?: Failure[];
}

/** Options of `startSandbox()`: those of the sandbox, and the port. */
export interface StartSandboxOptions extends SandboxOptions {
  /** First of three consecutive ports: provider, portal, API. Default 0: any free ports. */
  port?: number;
}

/**
 * The ids are the same in every sandbox, so that a `.env` still works after the sandbox was
 * restarted.
 */
export const CLIENT_ID = "sandboxclient0000000000001";
export const USER_POOL_ID = "sandbox-1_Classroom";
export const CLIENT_SECRET = "sandbox-only-client-secret-of-no-value-anywhere-else";

/**
 * Name of the platform that the sandbox imitates. The name is also the correct answer to
 * CUSTOM_CHALLENGE.
 */
export const PLATFORM_NAME = "Weather Data Platform";

/** Checks the value of the option `name`; `undefined` becomes the default. */
type Check<T> = (name: string, value: unknown) => T;

const CHECKS = {
  accessTokenSeconds: whole(1, 86_400, 1800),
  refreshDays: between(0, 3650, 30),
  words: oneOf("vendor", "aws"),
  rotateRefreshTokens: oneOf(false, true, "initiate-auth", "get-tokens"),
  graceSeconds: between(0, 60, 0),
  aliasSignIn: oneOf(false, true),
  lockoutAfter: whole(1, 1000, Infinity),
  throttlePerSecond: whole(1, 1_000_000, Infinity),
  challenge: (name: string, value: unknown = []) =>
    checkChallenges(value, `Cannot start the sandbox: option "${name}"`),
  trackDevices: oneOf(false, true, "ask", "withheld"),
  revocation: oneOf(true, false),
  refreshSecretHash: oneOf("optional", "required", "forbidden"),
  clientSecret(name: string, value: unknown = CLIENT_SECRET): string | undefined {
    if (value === false) return undefined;
    if (typeof value === "string" && value !== "") return value;
    throw refused(name, "must be a non-empty string, or false for a public client");
  },
  now(name: string, value: unknown = Date.now): () => number {
    if (typeof value !== "function") {
      throw refused(name, "must be a function that returns milliseconds");
    }
    return value as () => number;
  },
  latencyMs: between(0, 600_000, 0),
  failures(name: string, value: unknown = []): Failure[] {
    if (!Array.isArray(value)) throw refused(name, "must be an array");
    return value.map((failure) => ({ ...checkFailure(failure) }));
  },
} satisfies Record<keyof SandboxOptions, Check<unknown>>;

/** Checked options with their defaults filled in. */
export type SandboxConfig = {
  readonly [Name in keyof typeof CHECKS]: ReturnType<typeof CHECKS[Name]>;
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError} If an option is unknown or of the wrong type.
 * @throws {RangeError} If a number is out of its range.
 */
export function checkOptions(options: SandboxOptions = {}): SandboxConfig {
  const names = Object.keys(CHECKS);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot start the sandbox: there is no option "${unknown}"; use ${names.join(", ")}`,
    );
  }
  const given: Record<string, unknown> = { ...options };
  const checked = Object.entries(CHECKS).map(([name, check]) => [name, check(name, given[name])]);
  return Object.fromEntries(checked);
}

/** Checks the first of three consecutive ports. */
export const checkPort: (value: unknown) => number = (value) => whole(0, 65533, 0)("port", value);

function between(least: number, most: number, byDefault: number): Check<number> {
  return (name, value = byDefault) => {
    if (typeof value !== "number") throw refused(name, `must be a number, got ${typeof value}`);
    if (value === byDefault || value >= least && value <= most) return value;
    throw refused(name, `must be ${least} to ${most}, got ${value}`, RangeError);
  };
}

function whole(least: number, most: number, byDefault: number): Check<number> {
  const inRange = between(least, most, byDefault);
  return (name, value) => {
    const number = inRange(name, value);
    if (number === byDefault || Number.isInteger(number)) return number;
    throw refused(name, `must be a whole number, got ${number}`, RangeError);
  };
}

/** Accepts one of these values. The first value is the default. */
function oneOf<const Values extends readonly unknown[]>(...allowed: Values): Check<Values[number]> {
  return (name, value = allowed[0]) => {
    if (allowed.includes(value)) return value;
    const list = allowed.map((each) => JSON.stringify(each)).join(", ");
    throw refused(name, `must be one of ${list}, got ${JSON.stringify(value)}`);
  };
}

function refused(name: string, problem: string, type = TypeError): TypeError {
  return new type(`Cannot start the sandbox: option "${name}" ${problem}`);
}
