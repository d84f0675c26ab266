/**
 * The stable codes of {@linkcode ConfigError}. Something on this computer is missing or wrong;
 * nothing was sent unless the message says so.
 *
 * - `MISSING_SETTINGS`: settings that the call needs are not set. The message lists them.
 * - `INVALID_SETTING`: a setting or an option has a value that cannot be used, or the account changed
 *   during a login.
 * - `INVALID_PORTAL_TOKEN`: the text is not a portal string, or its token has expired.
 * - `ENV_FILE`: the `.env` cannot be read or written.
 * - `PERMISSION`: a Deno permission is missing. The message contains the flag to add.
 * - `UNTRUSTED_ORIGIN`: the address is not one that may receive the token.
 * - `PROMPT_UNAVAILABLE`: a value is missing, and this process cannot prompt for it.
 * - `PACKAGE_UNAVAILABLE`: a package that is loaded on demand could not be loaded.
 * - `TOKEN_UNAVAILABLE`: the function in the option `token` failed or returned no valid token.
 * - `STORE_UNREACHABLE`: the store of `AUTH_STORE` cannot be reached.
 * - `FILE_EXISTS`: the target file exists already, and the call does not allow replacing it.
 * - `FILE`: a file cannot be read or written, for example because the disk is full; `cause.code` is
 *   the system's code.
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
  | "TOKEN_UNAVAILABLE"
  | "STORE_UNREACHABLE"
  | "FILE_EXISTS"
  | "FILE";

/**
 * The stable codes of {@linkcode ProviderError}. The identity provider refused, failed or could not
 * be reached.
 *
 * - `INVALID_CREDENTIALS`: the user name or the password is wrong.
 * - `LOCKED_OUT`: too many failed attempts; logins are blocked for a while.
 * - `SECRET_HASH_REJECTED`: the app client secret does not belong to the app client.
 * - `CLIENT_UNKNOWN`: the provider does not know the app client id.
 * - `FLOW_DISABLED`: the app client does not allow this kind of login.
 * - `PASSWORD_RESET_REQUIRED`: the password must be reset before the next login.
 * - `USER_DISABLED`: an administrator disabled the account.
 * - `USER_NOT_CONFIRMED`: the account was never confirmed.
 * - `BLOCKED`: a firewall or the provider's risk check blocked the request.
 * - `THROTTLED`: too many requests; try again later.
 * - `REJECTED`: the provider refused the request for another reason; `providerCode` names it.
 * - `UNEXPECTED_RESPONSE`: the response does not follow the protocol.
 * - `UNREACHABLE`: no connection to the provider.
 * - `TIMEOUT`: no response within `timeoutMs`.
 * - `SERVER_ERROR`: the provider reported an internal error.
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
 * The stable codes of {@linkcode ChallengeError}. The login needs a further step.
 *
 * - `CHALLENGE_REQUIRED`: the step has not been answered.
 * - `CODE_REJECTED`: the one-time code was wrong.
 * - `NEW_PASSWORD_REJECTED`: the new password does not follow the provider's rules.
 * - `CHALLENGE_EXPIRED`: the step timed out, or too many answers were refused; start the login
 *   again.
 */
export type ChallengeErrorCode =
  | "CHALLENGE_REQUIRED"
  | "CODE_REJECTED"
  | "NEW_PASSWORD_REJECTED"
  | "CHALLENGE_EXPIRED";

/**
 * The stable codes of {@linkcode ApiError}.
 *
 * - `API_STATUS`: the API responded with an error status; see `status`.
 * - `API_BODY`: the body is not what the call needs, such as a web page instead of JSON.
 * - `API_TIMEOUT`: no header or no data arrived for `idleTimeoutMs`.
 * - `DOWNLOAD_BROKEN`: a download could not be completed, or its checksum does not match.
 */
export type ApiErrorCode =
  | "API_STATUS"
  | "API_BODY"
  | "API_TIMEOUT"
  | "DOWNLOAD_BROKEN";

/**
 * The stable codes of {@linkcode SessionExpiredError}. Log in again.
 *
 * - `NO_SESSION`: there was no login, or a logout ended the session.
 * - `REFRESH_REJECTED`: the provider refused to refresh the session, or the refresh brought tokens of
 *   another account.
 * - `REFRESH_WINDOW_OVER`: the provider refused to refresh the session, whose login was more than
 *   30 days ago.
 * - `CANNOT_REFRESH`: the access token expired and there is no refresh token, as after a portal
 *   login.
 */
export type SessionExpiredErrorCode =
  | "NO_SESSION"
  | "REFRESH_REJECTED"
  | "REFRESH_WINDOW_OVER"
  | "CANNOT_REFRESH";

/**
 * All codes of an {@linkcode AuthError}. The type of each subclass describes its codes.
 *
 * - `INTERRUPTED`: Stop was pressed in a notebook, or a prompt was canceled in a terminal. The class
 *   of this error is `AuthError` itself.
 * - `API_UNREACHABLE`: there is no connection to the API. The class of this error is `TypeError`,
 *   as from `fetch`; `instanceof AuthError` is also true.
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
