import type {
  ApiErrorCode,
  AuthErrorCode,
  ConfigErrorCode,
  ProviderErrorCode,
  SessionExpiredErrorCode,
} from "./codes.ts";
import { type Fix, fixText } from "./advice.ts";
import { brand, isInstance } from "./brand.ts";
import type { ErrorCause } from "./cause.ts";
import { addParts, jsonOf, messageOf } from "./parts.ts";
import { hideOwnFrames } from "./stack.ts";

/**
 * The base class of this module's errors. An error is an instance of a subclass, or of this class
 * itself if Stop was pressed in a notebook. `instanceof AuthError` is also true for the `TypeError`
 * of an API that cannot be reached. No error contains a token, a password or a secret.
 *
 * @example Handle one cause
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
  /** A stable code for the cause. Its meaning never changes. */
  readonly code: AuthErrorCode;
  /** The failed attempt, and why it failed. */
  declare readonly problem: string;
  /** The next step for the user. */
  declare readonly fix: string;
  /** Class and system code of the underlying error, if the network or the disk failed. */
  declare readonly cause?: ErrorCause;

  /** Protected, because only this module creates these errors. */
  protected constructor(
    code: AuthErrorCode,
    problem: string,
    fix: string,
    cause?: unknown,
    topic?: string,
  ) {
    const parts = { code, problem, fix, topic };
    super(messageOf(parts));
    this.code = code;
    addParts(this, parts, cause);
    hideOwnFrames(this);
  }

  static {
    brand(this, "AuthError");
  }

  /**
   * Also recognizes the errors of other copies of this module in the process, such as a released
   * file.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(this, value);
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
  static {
    brand(this, "ConfigError");
  }

  /** A stable code for the cause; see {@linkcode ConfigErrorCode}. */
  declare readonly code: ConfigErrorCode;

  private constructor(code: ConfigErrorCode, problem: string, fix: Fix, cause?: unknown) {
    super(code, problem, fixText(fix), cause);
  }
}

/** The fields that a subclass adds, and the underlying error. */
type Fields<Of extends AuthError> = Omit<Of, keyof AuthError> & { readonly cause: unknown };

/** The details of a {@linkcode ProviderError}. */
export type ProviderErrorDetails = Partial<Fields<ProviderError>>;

/** The identity provider refused, failed or could not be reached. */
export class ProviderError extends AuthError {
  static {
    brand(this, "ProviderError");
  }

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

  private constructor(
    code: ProviderErrorCode,
    problem: string,
    fix: Fix,
    { cause, ...fields }: ProviderErrorDetails = {},
  ) {
    super(code, problem, fixText(fix), cause);
    Object.assign(this, { attempts: 0, ...fields });
  }
}

/** The details of an {@linkcode ApiError}. */
export type ApiErrorDetails =
  & Pick<ApiError, "method" | "url">
  & Partial<Fields<ApiError>>
  & {
    /** The entry of `platform-auth explain`. Default: the status. */
    readonly topic?: string | undefined;
  };

/** The API refused a call, or its response is incomplete or cannot be used. */
export class ApiError extends AuthError {
  static {
    brand(this, "ApiError");
  }

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
   * enumerable, so that logs do not show the body. A token in the body is replaced by `[secret]`.
   * Text with a part of a token, or with an encoded token, is withheld.
   */
  declare readonly body?: unknown;

  private constructor(code: ApiErrorCode, problem: string, fix: Fix, details: ApiErrorDetails) {
    const { cause, body, topic = `${details.status}`, ...fields } = details;
    super(code, problem, fixText(fix), cause, code === "API_STATUS" ? topic : undefined);
    Object.assign(this, fields);
    if (body !== undefined) Object.defineProperty(this, "body", { value: body });
  }
}

/** There is no usable session: log in again. */
export class SessionExpiredError extends AuthError {
  static {
    brand(this, "SessionExpiredError");
  }

  /** A stable code for the cause; see {@linkcode SessionExpiredErrorCode}. */
  declare readonly code: SessionExpiredErrorCode;

  private constructor(code: SessionExpiredErrorCode, problem: string, fix: Fix) {
    super(code, problem, fixText(fix));
  }
}

/**
 * The API could not be reached. This error is a `TypeError`, as from `fetch`, and has the code, the
 * problem and the fix of an `AuthError`. `instanceof` is true for both classes.
 */
export class UnreachableError extends TypeError {
  static {
    brand(this, "UnreachableError");
  }

  readonly code = "API_UNREACHABLE";
  declare readonly problem: string;
  declare readonly fix: string;
  declare readonly cause?: ErrorCause;

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
