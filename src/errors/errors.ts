/**
 * The errors of this module: its classes, and what a wrong argument throws. `parts.ts` builds their
 * messages, `codes.ts` lists their codes.
 */
import { type Fix, fixText } from "./advice.ts";
import type { ErrorCause } from "./cause.ts";
import type {
  ApiErrorCode,
  AuthErrorCode,
  ConfigErrorCode,
  ProviderErrorCode,
  SessionExpiredErrorCode,
} from "./codes.ts";
import { printable } from "./escape.ts";
import { addParts, jsonOf, messageOf } from "./parts.ts";
import { hideOwnFrames } from "./stack.ts";

export type { ErrorCause } from "./cause.ts";
export type * from "./codes.ts";
export { CODES, isTransient } from "./codes.ts";
export { sentenceOf } from "./parts.ts";

/**
 * The base class of this module's errors. An error is an instance of a subclass, or of this class
 * itself if Stop was pressed in a notebook. No error contains a token, a password or a secret.
 *
 * Programs read `code`: `instanceof` does not recognize the errors of another copy of this module,
 * such as a released file beside the source.
 *
 * @example Handle one cause
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 *
 * const session = createSession({ envFile: false });
 * await session.accessToken().catch((error) => {
 *   if (error.code !== "NO_SESSION") throw error;
 *   console.log(error.problem); // There is no session
 *   console.log(error.fix); // run login() first
 * });
 * ```
 */
export class AuthError extends Error {
  /** A stable code for the cause. Its meaning never changes. */
  readonly code: AuthErrorCode;
  /** The failed attempt, and why it failed. */
  declare readonly problem: string;
  /** The next step for the user. */
  declare readonly fix: string;
  /** Class and system code of the underlying error, if the network or the disk failed. */
  declare readonly cause?: ErrorCause;

  /**
   * @param topic The entry of `platform-auth explain` to name. Default: the code.
   * @ignore
   */
  constructor(code: AuthErrorCode, problem: string, fix: Fix, cause?: unknown, topic?: string) {
    const parts = { code, problem, fix: fixText(fix), topic };
    super(messageOf(parts));
    this.code = code;
    addParts(this, parts, cause);
    hideOwnFrames(this);
  }

  /** Is also true for the `TypeError` of an API that cannot be reached. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(this, value) ||
      this === AuthError && value instanceof UnreachableError;
  }

  /** The error as data, for logs: name, code, problem, fix, and the fields of its class. */
  toJSON(): Record<string, unknown> {
    return jsonOf(this);
  }
}

/**
 * A setting, a file, a permission or an argument is missing or wrong. Nothing was sent unless the
 * message says so.
 */
export class ConfigError extends AuthError {
  /** A stable code for the cause; see {@linkcode ConfigErrorCode}. */
  declare readonly code: ConfigErrorCode;

  /** @ignore */
  constructor(code: ConfigErrorCode, problem: string, fix: Fix, cause?: unknown) {
    super(code, problem, fix, cause);
  }
}

/** The fields that a subclass adds, and the underlying error. */
type Fields<Of extends AuthError> = Omit<Of, keyof AuthError> & { readonly cause: unknown };

type ProviderErrorDetails = Partial<Fields<ProviderError>>;

/** The identity provider refused, failed or could not be reached. */
export class ProviderError extends AuthError {
  /** A stable code for the cause; see {@linkcode ProviderErrorCode}. */
  declare readonly code: ProviderErrorCode;
  /** HTTP status of the response; `undefined` if there was no response. */
  declare readonly status: number | undefined;
  /** The provider's own name for the error, such as `NotAuthorizedException`. */
  declare readonly providerCode: string | undefined;
  /** The provider's id of the request, for its support. */
  declare readonly requestId: string | undefined;
  /** The number of requests that were sent. */
  declare readonly attempts: number;
  /** Seconds to wait before the next attempt, if the provider specified one. */
  declare readonly retryAfterSeconds: number | undefined;

  /** @ignore */
  constructor(
    code: ProviderErrorCode,
    problem: string,
    fix: Fix,
    { cause, ...fields }: ProviderErrorDetails = {},
  ) {
    super(code, problem, fix, cause);
    Object.assign(this, { attempts: 0, ...fields });
  }
}

type ApiErrorDetails = Pick<ApiError, "method" | "url"> & Partial<Fields<ApiError>>;

/** The API refused a call, or its response is incomplete or cannot be used. */
export class ApiError extends AuthError {
  /** A stable code for the cause; see {@linkcode ApiErrorCode}. */
  declare readonly code: ApiErrorCode;
  /** Method of the call, such as `GET`. */
  declare readonly method: string;
  /** Address of the call, without its query. */
  declare readonly url: string;
  /** HTTP status of the response; `undefined` if there was no response. */
  declare readonly status: number | undefined;
  /** Seconds to wait before the next attempt, if the API specified one. */
  declare readonly retryAfterSeconds: number | undefined;
  /** The API's id of the request, for its support. */
  declare readonly requestId: string | undefined;
  /**
   * The body of the response, parsed if it is JSON, otherwise as text; at most 64 KiB. Not
   * enumerable, so that logs do not show the body. The tokens and secrets of the call are replaced
   * by `[secret]`.
   */
  declare readonly body?: unknown;
  /**
   * Whether the server that responded received the token: `false` after a redirect to another
   * origin. Not enumerable.
   */
  declare readonly hadToken: boolean;

  /** @ignore */
  constructor(code: ApiErrorCode, problem: string, fix: Fix, details: ApiErrorDetails) {
    const { cause, body, hadToken = true, ...fields } = details;
    // The help for a status assumes that the token was sent.
    const topic = code === "API_STATUS" && hadToken ? `${fields.status}` : undefined;
    super(code, problem, fix, cause, topic);
    Object.assign(this, fields);
    Object.defineProperty(this, "hadToken", { value: hadToken });
    if (body !== undefined) Object.defineProperty(this, "body", { value: body });
  }
}

/** There is no usable session: log in again. */
export class SessionExpiredError extends AuthError {
  /** A stable code for the cause; see {@linkcode SessionExpiredErrorCode}. */
  declare readonly code: SessionExpiredErrorCode;

  /** @ignore */
  constructor(code: SessionExpiredErrorCode, problem: string, fix: Fix) {
    super(code, problem, fix);
  }
}

/**
 * The API could not be reached. This error is a `TypeError`, as from `fetch`, and has the code, the
 * problem and the fix of an `AuthError`. `instanceof` is true for both classes.
 */
export class UnreachableError extends TypeError {
  readonly code = "API_UNREACHABLE";
  declare readonly problem: string;
  declare readonly fix: string;
  declare readonly cause?: ErrorCause;

  /** @ignore */
  constructor(problem: string, fix: Fix, cause?: unknown) {
    const parts = { code: "API_UNREACHABLE", problem, fix: fixText(fix) } as const;
    super(messageOf(parts));
    addParts(this, parts, cause);
    hideOwnFrames(this);
  }

  toJSON(): Record<string, unknown> {
    return jsonOf(this);
  }
}

/**
 * Errors about a wrong argument. They are recorded here to tell them from a `TypeError` that a bug
 * throws.
 */
const misuses = new WeakSet<TypeError>();

/** Makes a `TypeError`. In a notebook, its stack lists only the caller's frames. */
export function typeError(message: string): TypeError {
  const error = new TypeError(printable(message));
  hideOwnFrames(error);
  return asMisuse(error);
}

/** Marks an error that the runtime threw because of the caller's argument. */
export function asMisuse(error: TypeError): TypeError {
  misuses.add(error);
  return error;
}

/** Whether an error says that the caller passed a wrong argument. */
export function isMisuse(error: unknown): error is TypeError {
  return error instanceof TypeError && misuses.has(error);
}

/**
 * Rethrows an error that only a mistake in a program can cause. Call this function in a `catch`
 * that handles errors of the system, so that the `catch` does not hide mistakes.
 */
export function throwIfBug(error: unknown): void {
  const isOfLanguage = [TypeError, RangeError, ReferenceError].some((type) =>
    error instanceof type
  );
  // The runtime also throws a `TypeError` for a refused system call, but with the system's code.
  if (isOfLanguage && !("code" in Object(error))) throw error;
}

/**
 * @param action What was tried, such as "save data.csv".
 * @param flag The flag that grants the permission, such as `--allow-net=api.example.com`.
 */
export function missingPermission(action: string, flag: string): ConfigError {
  const fix = `add ${flag} to the command`;
  return new ConfigError("PERMISSION", `Cannot ${action}: ${flag} is missing`, fix);
}
