/** The stable codes of {@linkcode ConfigError}. */
export type ConfigErrorCode =
  | "MISSING_SETTINGS"
  | "INVALID_SETTING"
  | "INVALID_PORTAL_TOKEN"
  | "ENV_FILE"
  | "PERMISSION"
  | "UNTRUSTED_ORIGIN"
  | "PROMPT_UNAVAILABLE"
  | "PACKAGE_UNAVAILABLE"
  | "TOKEN_UNAVAILABLE"
  | "STORE_UNREACHABLE"
  | "FILE_EXISTS"
  | "FILE";

/** The stable codes of {@linkcode ProviderError}. */
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

/** The stable codes of {@linkcode ChallengeError}. */
export type ChallengeErrorCode =
  | "CHALLENGE_REQUIRED"
  | "CODE_REJECTED"
  | "NEW_PASSWORD_REJECTED"
  | "CHALLENGE_EXPIRED";

/** The stable codes of {@linkcode ApiError}. */
export type ApiErrorCode =
  | "API_STATUS"
  | "API_BODY"
  | "API_TIMEOUT"
  | "DOWNLOAD_BROKEN";

/** The stable codes of {@linkcode SessionExpiredError}. */
export type SessionExpiredErrorCode =
  | "NO_SESSION"
  | "REFRESH_REJECTED"
  | "REFRESH_WINDOW_OVER"
  | "CANNOT_REFRESH";

/**
 * All codes of an {@linkcode AuthError}. `platform-auth explain CODE` and `docs/troubleshooting.md`
 * explain each.
 */
export type AuthErrorCode =
  | ConfigErrorCode
  | ProviderErrorCode
  | ChallengeErrorCode
  | ApiErrorCode
  | SessionExpiredErrorCode
  | "INTERRUPTED"
  | "API_UNREACHABLE";

/** The error class of each code, in the order of the documentation. */
export const CODES: Readonly<Record<AuthErrorCode, string>> = {
  MISSING_SETTINGS: "ConfigError",
  INVALID_SETTING: "ConfigError",
  INVALID_PORTAL_TOKEN: "ConfigError",
  ENV_FILE: "ConfigError",
  PERMISSION: "ConfigError",
  UNTRUSTED_ORIGIN: "ConfigError",
  PROMPT_UNAVAILABLE: "ConfigError",
  PACKAGE_UNAVAILABLE: "ConfigError",
  TOKEN_UNAVAILABLE: "ConfigError",
  STORE_UNREACHABLE: "ConfigError",
  FILE_EXISTS: "ConfigError",
  FILE: "ConfigError",
  INVALID_CREDENTIALS: "ProviderError",
  LOCKED_OUT: "ProviderError",
  SECRET_HASH_REJECTED: "ProviderError",
  CLIENT_UNKNOWN: "ProviderError",
  FLOW_DISABLED: "ProviderError",
  PASSWORD_RESET_REQUIRED: "ProviderError",
  USER_DISABLED: "ProviderError",
  USER_NOT_CONFIRMED: "ProviderError",
  BLOCKED: "ProviderError",
  THROTTLED: "ProviderError",
  REJECTED: "ProviderError",
  UNEXPECTED_RESPONSE: "ProviderError",
  UNREACHABLE: "ProviderError",
  TIMEOUT: "ProviderError",
  SERVER_ERROR: "ProviderError",
  CHALLENGE_REQUIRED: "ChallengeError",
  CODE_REJECTED: "ChallengeError",
  NEW_PASSWORD_REJECTED: "ChallengeError",
  CHALLENGE_EXPIRED: "ChallengeError",
  API_STATUS: "ApiError",
  API_BODY: "ApiError",
  API_TIMEOUT: "ApiError",
  DOWNLOAD_BROKEN: "ApiError",
  NO_SESSION: "SessionExpiredError",
  REFRESH_REJECTED: "SessionExpiredError",
  REFRESH_WINDOW_OVER: "SessionExpiredError",
  CANNOT_REFRESH: "SessionExpiredError",
  INTERRUPTED: "AuthError",
  API_UNREACHABLE: "TypeError",
};

const TRANSIENT: ReadonlySet<AuthErrorCode> = new Set(
  [
    "STORE_UNREACHABLE",
    "THROTTLED",
    "UNREACHABLE",
    "TIMEOUT",
    "SERVER_ERROR",
    "API_TIMEOUT",
    "API_UNREACHABLE",
  ] as const,
);

/** Whether the cause is temporary, so that the same call may succeed a little later. */
export function isTransient(code: AuthErrorCode): boolean {
  return TRANSIENT.has(code);
}
