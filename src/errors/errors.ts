import { causeOf, type ErrorCause } from "./cause.ts";
import { type Fix, fixText } from "./advice.ts";
import { inKernel } from "./front_end.ts";
import { hideOwnFrames, showCaller } from "./stack.ts";
import { printable } from "./wording.ts";

export type { ErrorCause } from "./cause.ts";

/**
 * The stable codes of {@linkcode ConfigError}: something on this computer is missing or wrong. In most
 * cases nothing was sent; the message says where something was.
 */
export type ConfigErrorCode =
  | "MISSING_SETTINGS"
  | "INVALID_SETTING"
  | "INVALID_PORTAL_TOKEN"
  | "ENV_FILE"
  | "PERMISSION"
  | "UNTRUSTED_ORIGIN"
  | "PROMPT_UNAVAILABLE"
  | "PACKAGE_UNAVAILABLE"
  | "TOKEN_COMMAND"
  | "STORE_UNREACHABLE";

/**
 * The stable codes of {@linkcode ProviderError}: the identity provider refused, failed or could not be
 * reached.
 */
export type ProviderErrorCode =
  | "INVALID_CREDENTIALS"
  | "LOCKED_OUT"
  | "SECRET_HASH_REJECTED"
  | "CLIENT_UNKNOWN"
  | "FLOW_DISABLED"
  | "PASSWORD_RESET_REQUIRED"
  | "USER_DISABLED"
  | "USER_NOT_CONFIRMED"
  | "BLOCKED"
  | "THROTTLED"
  | "REJECTED"
  | "UNEXPECTED_RESPONSE"
  | "UNREACHABLE"
  | "TIMEOUT"
  | "SERVER_ERROR";

/**
 * The stable codes of {@linkcode ChallengeError}: the login needs a further step, or its answer was
 * refused.
 */
export type ChallengeErrorCode =
  | "CHALLENGE_REQUIRED"
  | "CODE_REJECTED"
  | "NEW_PASSWORD_REJECTED"
  | "CHALLENGE_EXPIRED";

/**
 * The stable codes of {@linkcode ApiError}: the API's answer is no 2xx, not what was expected, not
 * whole, or does not come.
 */
export type ApiErrorCode =
  | "API_STATUS"
  | "API_BODY"
  | "API_TIMEOUT"
  | "DOWNLOAD_BROKEN";

/** The stable codes of {@linkcode SessionExpiredError}: only a new login helps. */
export type SessionExpiredErrorCode =
  | "NO_SESSION"
  | "REFRESH_REJECTED"
  | "REFRESH_WINDOW_OVER"
  | "CANNOT_REFRESH";

/** Every `code` of an {@linkcode AuthError}. `INTERRUPTED`: Stop was pressed in a notebook. */
export type AuthErrorCode =
  | ConfigErrorCode
  | ProviderErrorCode
  | ChallengeErrorCode
  | ApiErrorCode
  | SessionExpiredErrorCode
  | "INTERRUPTED";

/** What is known of a code. */
export interface CodeFacts {
  /** The class of its errors. */
  readonly of: string;
  /** Whether the cause may pass by itself: the same call may succeed a little later. */
  readonly mayPass?: true;
}

/** Every code, in the order in which the documents list them. */
export const CODES: Readonly<Record<AuthErrorCode, CodeFacts>> = {
  MISSING_SETTINGS: { of: "ConfigError" },
  INVALID_SETTING: { of: "ConfigError" },
  INVALID_PORTAL_TOKEN: { of: "ConfigError" },
  ENV_FILE: { of: "ConfigError" },
  PERMISSION: { of: "ConfigError" },
  UNTRUSTED_ORIGIN: { of: "ConfigError" },
  PROMPT_UNAVAILABLE: { of: "ConfigError" },
  PACKAGE_UNAVAILABLE: { of: "ConfigError" },
  TOKEN_COMMAND: { of: "ConfigError" },
  STORE_UNREACHABLE: { of: "ConfigError", mayPass: true },
  INVALID_CREDENTIALS: { of: "ProviderError" },
  LOCKED_OUT: { of: "ProviderError" },
  SECRET_HASH_REJECTED: { of: "ProviderError" },
  CLIENT_UNKNOWN: { of: "ProviderError" },
  FLOW_DISABLED: { of: "ProviderError" },
  PASSWORD_RESET_REQUIRED: { of: "ProviderError" },
  USER_DISABLED: { of: "ProviderError" },
  USER_NOT_CONFIRMED: { of: "ProviderError" },
  BLOCKED: { of: "ProviderError" },
  THROTTLED: { of: "ProviderError", mayPass: true },
  REJECTED: { of: "ProviderError" },
  UNEXPECTED_RESPONSE: { of: "ProviderError" },
  UNREACHABLE: { of: "ProviderError", mayPass: true },
  TIMEOUT: { of: "ProviderError", mayPass: true },
  SERVER_ERROR: { of: "ProviderError", mayPass: true },
  CHALLENGE_REQUIRED: { of: "ChallengeError" },
  CODE_REJECTED: { of: "ChallengeError" },
  NEW_PASSWORD_REJECTED: { of: "ChallengeError" },
  CHALLENGE_EXPIRED: { of: "ChallengeError" },
  API_STATUS: { of: "ApiError" },
  API_BODY: { of: "ApiError" },
  API_TIMEOUT: { of: "ApiError", mayPass: true },
  DOWNLOAD_BROKEN: { of: "ApiError" },
  NO_SESSION: { of: "SessionExpiredError" },
  REFRESH_REJECTED: { of: "SessionExpiredError" },
  REFRESH_WINDOW_OVER: { of: "SessionExpiredError" },
  CANNOT_REFRESH: { of: "SessionExpiredError" },
  INTERRUPTED: { of: "AuthError" },
};

/** Whether the cause may pass by itself: the same call may succeed a little later. */
export function isTransient(code: AuthErrorCode): boolean {
  return CODES[code].mayPass === true;
}

/**
 * The family of errors that this module throws. The message stands alone: `problem` says what was
 * tried and why it failed, `fix` what to do next. `code` is stable and meant for programs. `stack`
 * lists the caller's own frames only. None of them holds a token, a password or a secret.
 *
 * @example Tell the causes apart
 * ```ts
 * import { AuthError, createSession } from "@platform-auth/platform-auth";
 *
 * const session = createSession({ envFile: false });
 * try {
 *   await session.accessToken();
 * } catch (error) {
 *   if (!(error instanceof AuthError && error.code === "NO_SESSION")) throw error;
 *   console.log(error.problem); // There is no session
 *   console.log(error.fix); // run login() first
 * }
 * ```
 */
export class AuthError extends Error {
  /** Stable name of the cause. */
  readonly code: AuthErrorCode;
  /** Class and system code of the error behind it, where the network or the disk failed. */
  declare readonly cause?: ErrorCause;
  readonly #problem: string;
  readonly #fix: string;

  /** Made by this module. */
  constructor(
    code: AuthErrorCode,
    problem: string,
    fix: Fix,
    { name = "AuthError", cause }: { readonly name?: string; readonly cause?: unknown } = {},
  ) {
    const next = fixText(fix);
    const help = helpOn(code);
    super(printable(`${sentenceOf({ problem, fix: next })} (${help})`));
    this.name = name;
    this.code = code;
    this.#problem = printable(problem);
    this.#fix = printable(next);
    const known = causeOf(cause);
    if (known) Object.defineProperty(this, "cause", { value: known });
    hideOwnFrames(this, { problem: this.#problem, fix: this.#fix, help });
  }

  /** What was tried, and why it failed. */
  get problem(): string {
    return this.#problem;
  }

  /** What to do next. */
  get fix(): string {
    return this.#fix;
  }
}

/** Where to read more. The command works offline and in any folder. A notebook has none. */
export function helpOn(code: AuthErrorCode): string {
  return `help: ${
    inKernel() ? `${code} in docs/troubleshooting.md` : `platform-auth explain ${code}`
  }`;
}

/** Problem and fix of an error or a notice as one text. */
export function sentenceOf(
  { problem, fix = "" }: { readonly problem: string; readonly fix?: string },
): string {
  return fix === "" ? problem : `${problem}; ${fix}`;
}

/**
 * Waits for what other calls may wait for, too: an error shows this caller, and not the call that
 * happened to start the work.
 */
export async function shownToCaller<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AuthError) showCaller(error);
    throw error;
  }
}

/** A `TypeError` whose stack lists the caller's own frames only. */
export function typeError(message: string): TypeError {
  const error = new TypeError(printable(message));
  hideOwnFrames(error);
  return error;
}

/** A setting, a file, a permission or an argument is missing or wrong. Nothing was sent. */
export class ConfigError extends AuthError {
  /** Made by this module. */
  constructor(code: ConfigErrorCode, problem: string, fix: Fix, cause?: unknown) {
    super(code, problem, fix, { name: "ConfigError", cause });
  }
}

/**
 * The error of a permission that is missing.
 *
 * @param doing What was tried, such as "save data.csv".
 * @param run What grants the permission: the whole command, or the flags. `otherwise`: what else helps.
 * @param to What the permission is for, where `doing` does not tell.
 */
export function missingPermission(
  doing: string,
  run: ({ readonly command: string } | { readonly flags: string }) & {
    readonly otherwise?: string;
  },
  to?: string,
): ConfigError {
  const permission = to === undefined ? "the permission" : `the permission to ${to}`;
  const next = "command" in run ? `run: ${run.command}` : `run with ${run.flags}`;
  return new ConfigError(
    "PERMISSION",
    `Cannot ${doing}: ${permission} is missing`,
    run.otherwise === undefined ? next : `${next}; or ${run.otherwise}`,
  );
}

/** What is known of the provider's answer behind a {@linkcode ProviderError}. */
export interface ProviderErrorDetails {
  /** HTTP status, when there was an answer. */
  status?: number | undefined;
  /** The provider's own name for the error, such as `NotAuthorizedException`. */
  providerCode?: string | undefined;
  /** The provider's id of the request, for its support. */
  requestId?: string | undefined;
  /** How many requests were sent. */
  attempts?: number;
  /** Seconds the provider asked to wait, when it said so. */
  retryAfterSeconds?: number | undefined;
  /** The error behind it: its class and system code are kept. */
  cause?: unknown;
}

/** The identity provider refused, failed or could not be reached. */
export class ProviderError extends AuthError {
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** The provider's own name for the error, such as `NotAuthorizedException`. */
  readonly providerCode: string | undefined;
  /** The provider's id of the request, for its support. */
  readonly requestId: string | undefined;
  /** How many requests were sent. */
  readonly attempts: number;
  /** Seconds the provider asked to wait, when it said so. */
  readonly retryAfterSeconds: number | undefined;

  /** Made by this module. */
  constructor(
    code: ProviderErrorCode,
    problem: string,
    fix: Fix,
    details: ProviderErrorDetails = {},
  ) {
    super(code, problem, fix, { name: "ProviderError", cause: details.cause });
    this.status = details.status;
    this.providerCode = details.providerCode;
    this.requestId = details.requestId;
    this.attempts = details.attempts ?? 0;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** What is known of the call and the answer behind an {@linkcode ApiError}. */
export interface ApiErrorDetails {
  /** Method of the call, such as `GET`. */
  method: string;
  /** Address of the call, without its query. */
  url: string;
  /** HTTP status, when there was an answer. */
  status?: number | undefined;
  /** Seconds the API asked to wait, when it said so. */
  retryAfterSeconds?: number | undefined;
  /** The API's id of the request, for its support. */
  requestId?: string | undefined;
  /** The error behind it: its class and system code are kept. */
  cause?: unknown;
}

/** The API answered with an error, with a body that cannot be used, broke off, or brought nothing. */
export class ApiError extends AuthError {
  /** Method of the call, such as `GET`. */
  readonly method: string;
  /** Address of the call, without its query. */
  readonly url: string;
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Seconds the API asked to wait, when it said so. */
  readonly retryAfterSeconds: number | undefined;
  /** The API's id of the request, for its support. */
  readonly requestId: string | undefined;

  /** Made by this module. */
  constructor(code: ApiErrorCode, problem: string, fix: Fix, details: ApiErrorDetails) {
    super(code, problem, fix, { name: "ApiError", cause: details.cause });
    this.method = details.method;
    this.url = details.url;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
  }
}

/** There is no usable session, and only a new login helps. */
export class SessionExpiredError extends AuthError {
  /** Made by this module. */
  constructor(code: SessionExpiredErrorCode, problem: string, fix: Fix) {
    super(code, problem, fix, { name: "SessionExpiredError" });
  }
}
