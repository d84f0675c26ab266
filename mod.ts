/**
 * Logs data scientists in to a data platform's API, from a notebook or a script, and keeps the
 * access token current. The session is saved in the `.env`, so a restarted kernel needs no new
 * login. Importing this module has no side effects.
 *
 * ```ts ignore
 * import { fetchJson, login } from "./mod.ts";
 * await login(); // settings and credentials from .env, the environment, or a prompt
 * const stations = await fetchJson("/v1/stations");
 * ```
 *
 * @module
 */
export {
  accessToken,
  authFetch,
  configure,
  createSession,
  doctor,
  download,
  downloadAll,
  fetchJson,
  login,
  logout,
  refresh,
  status,
} from "./src/default_session.ts";
export type { Download, DownloadOptions } from "./src/api/download/download.ts";
export type {
  DownloadAllOptions,
  Downloads,
  DownloadsProgress,
  FailedDownload,
} from "./src/api/download/download_all.ts";
export type { DownloadItem } from "./src/api/download/items.ts";
export type { DownloadProgress } from "./src/api/download/transfer.ts";
export type { FetchJsonInit } from "./src/api/fetch_json.ts";
export type { Check, Diagnosis } from "./src/show/diagnosis.ts";
export type { DoctorOptions } from "./src/doctor/doctor.ts";
export {
  ApiError,
  AuthError,
  ConfigError,
  ProviderError,
  SessionExpiredError,
} from "./src/errors/errors.ts";
export type {
  ApiErrorCode,
  AuthErrorCode,
  ChallengeErrorCode,
  ConfigErrorCode,
  ErrorCause,
  ProviderErrorCode,
  SessionExpiredErrorCode,
} from "./src/errors/errors.ts";
export {
  type Answers,
  type AuthenticatorKey,
  type Challenge,
  ChallengeError,
} from "./src/session/challenges/challenge.ts";
export type { ChallengeAsk } from "./src/provider/challenges.ts";
export type { LoginOptions } from "./src/session/login.ts";
export type { ProviderDialect, SessionOptions } from "./src/settings/options.ts";
export type { SessionLock, SessionRecord, SessionStore } from "./src/settings/session_store.ts";
export type { LogEvent } from "./src/platform/log_event.ts";
export type { Ask } from "./src/platform/world.ts";
export { parsePortalToken } from "./src/session/portal_token.ts";
export { computeSecretHash } from "./src/provider/secret_hash.ts";
export type { AccessTokenOptions, LogoutOptions, RefreshOptions, Session } from "./src/session.ts";
export type { Notice, NoticeCode } from "./src/session/notices.ts";
export type { SessionStatus } from "./src/session/status.ts";
