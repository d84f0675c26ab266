import type { Download, DownloadOptions } from "./api/download/download.ts";
import type { DownloadAllOptions, Downloads } from "./api/download/download_all.ts";
import type { DownloadItem } from "./api/download/items.ts";
import type { FetchJsonInit } from "./api/fetch_json.ts";
import type { Diagnosis } from "./show/diagnosis.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import type { LoginOptions } from "./session/login.ts";
import type { SessionOptions } from "./settings/options.ts";
import {
  type AccessTokenOptions,
  AccountSession,
  type CheckedResponse,
  type LogoutOptions,
  type RefreshOptions,
  type Session,
} from "./session.ts";
import type { SessionStatus } from "./session/status.ts";

/**
 * The key of the default session in `globalThis`. A notebook may import this module again under
 * another URL. With this key, both copies of the module use the same session.
 */
const KEY = Symbol.for("platform-auth default session 0");

function defaultSession(): AccountSession {
  const shared = globalThis as { [KEY]?: AccountSession };
  return shared[KEY] ??= new AccountSession({}, true);
}

/**
 * Sets the options of the default session, replacing all earlier options. A call with the same
 * options keeps the session, so you can run a cell again. If the provider, the app client, the file
 * or the store changes, the tokens in memory are dropped; tokens in a file are never deleted.
 *
 * The types of the options are checked at once. Most values, such as addresses, are checked when
 * they are first used, together with the settings in the environment and the `.env`.
 *
 * @throws {TypeError} If an option is unknown or has the wrong type.
 * @throws {ConfigError} `INVALID_SETTING` if an option contains a control character, or if
 * `envFile` or `exportEnv` cannot be used. Once the session has been used, also the errors of
 * {@linkcode status}.
 *
 * @example
 * ```ts
 * import { configure, status } from "@platform-auth/platform-auth";
 * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
 *
 * await using sandbox = await startSandbox();
 * configure(sandbox.settings);
 * console.log(status().state); // none
 * ```
 */
export function configure(options: SessionOptions): void {
  defaultSession().configure(options);
}

/**
 * Logs in: with a portal string, with user name and password from the settings, or by
 * prompting for what is missing. A valid session is kept, unless an option requires a new login.
 * The tokens are saved in the `.env`, so that a restarted kernel continues the session.
 *
 * If the provider requires a further step, such as a new password or a one-time code, `onChallenge`
 * answers the step. Without `onChallenge`, a notebook or a terminal prompts for the answer.
 *
 * Needs `--allow-net` for the provider, `--allow-read` and `--allow-write` for the folder of the
 * `.env`, and `--allow-env` for settings in the environment.
 *
 * @returns Who is logged in, and until when; never a token.
 * @throws {ConfigError} If nothing could be sent: `MISSING_SETTINGS`, `INVALID_SETTING`,
 * `INVALID_PORTAL_TOKEN`, `PERMISSION`, `PROMPT_UNAVAILABLE` and others. Also `INVALID_SETTING` if
 * the account in the settings changed during the login.
 * @throws {ProviderError} If the provider refused or could not be reached: `INVALID_CREDENTIALS`,
 *   `LOCKED_OUT`, `UNREACHABLE` and others.
 * @throws {ChallengeError} `CHALLENGE_REQUIRED` if a further step was not answered;
 *   `CODE_REJECTED`, `NEW_PASSWORD_REJECTED` or `CHALLENGE_EXPIRED` if its answers were refused.
 * @throws {TypeError} If an option is unknown, has the wrong type, or contradicts another option.
 *
 * @example
 * ```ts
 * import { login } from "@platform-auth/platform-auth";
 *
 * const { state } = await login(); // settings from .env and the environment
 * console.log(state); // valid
 * ```
 */
export function login(options?: LoginOptions): Promise<SessionStatus> {
  return defaultSession().login(options);
}

/**
 * Refreshes the tokens now, regardless of the time left, or joins a refresh that is already in
 * progress. This is rarely needed: {@linkcode authFetch} keeps the token current.
 *
 * @throws {SessionExpiredError} If you have to log in again: `NO_SESSION`, `CANNOT_REFRESH`,
 * `REFRESH_REJECTED`, `REFRESH_WINDOW_OVER`.
 * @throws {ConfigError} If nothing could be sent: `MISSING_SETTINGS`, `INVALID_SETTING` and others.
 * @throws {ProviderError} If the provider refused for another reason or could not be reached:
 * `UNREACHABLE`, `TIMEOUT` and others.
 *
 * @example
 * ```ts
 * import { login, refresh } from "@platform-auth/platform-auth";
 *
 * await login();
 * console.log((await refresh()).source); // refresh
 * ```
 */
export function refresh(options?: RefreshOptions): Promise<SessionStatus> {
  return defaultSession().refresh(options);
}

/**
 * Calls the API like `fetch`, and adds the header `authorization: bearer <token>`. The token is
 * refreshed before it expires. A relative path is resolved against `API_BASE_URL`. The token is
 * sent only to the origins of `API_BASE_URL` and `API_ALLOWED_ORIGINS`.
 *
 * If the API responds with 401, the call is repeated: first with a newer token that another process
 * has saved, if there is one, then with a refreshed token. A call whose body cannot be sent twice
 * is not repeated.
 *
 * @throws {SessionExpiredError} If you have to log in: `NO_SESSION`, `CANNOT_REFRESH`,
 * `REFRESH_REJECTED`, `REFRESH_WINDOW_OVER`.
 * @throws {ProviderError} If the token had expired and could not be refreshed: `UNREACHABLE`,
 * `TIMEOUT` and others.
 * @throws {ConfigError} If nothing could be sent: `UNTRUSTED_ORIGIN`, `MISSING_SETTINGS`,
 * `PERMISSION` and others.
 * @throws {TypeError} If an argument cannot be used, such as an `authorization` header, or if
 * `fetch` throws a `TypeError`. If the API cannot be reached, the error has the code
 * `API_UNREACHABLE` and is also an instance of `AuthError`.
 *
 * @example
 * ```ts
 * import { authFetch, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const response = await authFetch("/v1/stations");
 * console.log(response.status, (await response.json()).length);
 * ```
 */
export function authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  return defaultSession().authFetch(input, init);
}

/**
 * Calls the API as {@linkcode authFetch} does, and parses the JSON body. If the status is not 2xx,
 * or the body is not JSON, an error is thrown. For a HEAD and for an empty body, the result is
 * `undefined`. The body is decoded in the charset that the response declares, by default UTF-8.
 *
 * After a 429 or 503, a GET or HEAD is repeated when the time in `Retry-After` has passed, at most
 * `retries` times (default 3), within `retryWithinMs` (default 60 000). If no data arrives for
 * `idleTimeoutMs` (default 300 000), the call fails. All other options go to `fetch`.
 *
 * The result has the type `any` unless the call has a type argument.
 *
 * @throws {ApiError} `API_STATUS` if the API responded with an error; `API_BODY` if the body is not
 * JSON, or not text in its charset; `API_TIMEOUT` if no data arrived.
 * @throws {SessionExpiredError | ProviderError | ConfigError | TypeError} As {@linkcode authFetch}.
 *
 * @example
 * ```ts
 * import { fetchJson, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const stations = await fetchJson<{ name: string }[]>("/v1/stations");
 * console.log(stations.length); // 6
 * ```
 */
// deno-lint-ignore no-explicit-any
export function fetchJson<T = any>(
  input: string | URL | Request,
  init?: FetchJsonInit,
): Promise<T> {
  return defaultSession().fetchJson<T>(input, init);
}

/**
 * Downloads a file. The file is saved under its name only once it is complete: its length and its
 * checksum are checked, if the API sends them. To resume an interrupted download, run the same call
 * again, even in a new process or after the token or a presigned address has expired. Without a
 * strong `ETag` from the API, the download starts over. An existing file is kept, unless `ifExists` says
 * otherwise. A notebook or a terminal shows the progress.
 *
 * Needs `--allow-read` and `--allow-write` for the folder of the file.
 *
 * @param file Path or `file:` URL of a regular file. For a pipe or a device, use
 * {@linkcode authFetch}.
 * @returns The saved file. A notebook shows it as a card.
 * @throws {ApiError} `API_STATUS` if the API responded with an error; `API_BODY` if the response is
 * not the file, such as a web page, or a 202 because the API is still preparing the file;
 * `API_TIMEOUT` if no data arrived for `idleTimeoutMs` (default 60 000); `DOWNLOAD_BROKEN` if the
 * file is incomplete or does not match its checksum.
 * @throws {ConfigError} `FILE_EXISTS` if the file already exists, with `ifExists: "error"`; `FILE`
 * if the file cannot be written.
 * @throws {SessionExpiredError | ProviderError | ConfigError | TypeError} As {@linkcode authFetch}.
 *
 * @example
 * ```ts
 * import { download, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const file = `${await Deno.makeTempDir()}/observations.csv`;
 * const saved = await download("/v1/stations/gull-harbor/observations.csv", file);
 * console.log(saved.bytes === Deno.statSync(file).size); // true
 * ```
 */
export function download(
  input: string | URL | Request,
  file: string | URL,
  options?: DownloadOptions,
): Promise<Download> {
  return defaultSession().download(input, file, options);
}

/**
 * Downloads many files, a few at a time, each as {@linkcode download} does. Existing files are
 * kept, so after an interruption you can run the same call again, even while another process
 * downloads the same list. A file that fails is listed in `failed` and does not stop the others. A
 * problem that affects every file is thrown as an error: a missing session or permission, a full
 * disk, or an API that cannot be reached. After a 429, or an error with `Retry-After`, all downloads
 * pause. A notebook or a terminal shows the progress.
 *
 * All items are checked before anything is sent.
 *
 * Needs `--allow-read` and `--allow-write` for the folders of the files.
 *
 * @param items Pairs of an address and the file in which to save its content.
 * @returns The files that were saved, kept or failed. A notebook shows the result as a card.
 * @throws {ConfigError} `INVALID_SETTING` if two items have the same file; `FILE` if the disk is
 * full; `PERMISSION` or `MISSING_SETTINGS` if a permission or a setting is missing.
 * @throws {ApiError} `API_STATUS` with `status` 401 if the API rejected the token, or 429 if its
 * `Retry-After` is more than five minutes; `API_TIMEOUT` if the API never responded.
 * @throws {SessionExpiredError | ProviderError} As {@linkcode authFetch}.
 * @throws {TypeError} If an item is not a pair, or if the API cannot be reached
 * (`code: "API_UNREACHABLE"`).
 *
 * @example
 * ```ts
 * import { downloadAll, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const folder = await Deno.makeTempDir();
 * const stations = ["gull-harbor", "mill-plain"];
 * const { saved, failed } = await downloadAll(
 *   stations.map((id) => [`/v1/stations/${id}/observations.csv`, `${folder}/${id}.csv`]),
 * );
 * console.log(saved.length, failed.length); // 2 0
 * ```
 */
export function downloadAll(
  items: Iterable<DownloadItem>,
  options?: DownloadAllOptions,
): Promise<Downloads> {
  return defaultSession().downloadAll(items, options);
}

/**
 * Returns a current access token for another client, such as a database driver, `curl` or a child
 * process. Treat the token like a password.
 *
 * @throws {SessionExpiredError} If you have to log in: `NO_SESSION`, `CANNOT_REFRESH`,
 * `REFRESH_REJECTED`, `REFRESH_WINDOW_OVER`.
 * @throws {ProviderError | ConfigError} If the token had to be refreshed, and the refresh failed:
 * `UNREACHABLE`, `MISSING_SETTINGS` and others.
 * @throws {TypeError} If `minValidSeconds` is negative or not a finite number.
 *
 * @example
 * ```ts
 * import { accessToken, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const token = await accessToken({ minValidSeconds: 60 });
 * console.log(token.split(".").length); // 3
 * ```
 */
export function accessToken(options?: AccessTokenOptions): Promise<string> {
  return defaultSession().accessToken(options);
}

/**
 * Returns who is logged in, until when, and where the tokens came from. Sends no request, but reads
 * the `.env`, in which another process may have changed the session.
 *
 * @throws {ConfigError} `INVALID_SETTING` if a setting cannot be used, `PERMISSION` if the file of a
 * secret may not be read, `ENV_FILE` if the working folder was removed.
 *
 * @example
 * ```ts
 * import { configure, status } from "@platform-auth/platform-auth";
 *
 * configure({ envFile: false, exportEnv: "none" });
 * console.log(status().state); // none
 * ```
 */
export function status(): SessionStatus {
  return defaultSession().status();
}

/**
 * Checks what a login and a call need: the settings and where they came from, the `.env`, the clock,
 * the provider, the API, the token, proxies and permissions. The doctor changes
 * nothing, shows no secret, and sends the token only to `API_BASE_URL`. With `login: true`, it also
 * makes a test login, refreshes the new tokens once, and revokes them.
 *
 * @example
 * ```ts
 * import { doctor } from "@platform-auth/platform-auth";
 *
 * console.log((await doctor()).ok); // true
 * ```
 */
export function doctor(options?: DoctorOptions): Promise<Diagnosis> {
  return defaultSession().doctor(options);
}

/**
 * Ends the session. Deletes the tokens from memory, the process environment and the `.env`, and
 * then asks the provider to revoke the refresh token, so that no copy of it can be used. With
 * `everywhere: true`, the provider signs out all devices. Other processes that use the same `.env`
 * lose the session as well.
 *
 * The logout waits at most three seconds for the provider's response. If a refresh is in progress,
 * the logout first waits at most three seconds for the new token, so that it can revoke that token.
 * An access token that was already handed out may stay valid until it expires.
 *
 * @returns The status, whose `ended` says how far the logout went. A provider that does not support
 * revocation or cannot be reached is not an error.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if the tokens could not be deleted from the file;
 *   `STORE_UNREACHABLE`, `INVALID_SETTING` or `PACKAGE_UNAVAILABLE` if a store still contains them.
 * @throws {TypeError} If `everywhere: true` and `revoke: false` are both given.
 *
 * @example
 * ```ts
 * import { login, logout, status } from "@platform-auth/platform-auth";
 *
 * await login();
 * const { ended } = await logout();
 * console.log(status().state, ended); // none provider
 * ```
 */
export function logout(options?: LogoutOptions): Promise<SessionStatus> {
  return defaultSession().logout(options);
}

/**
 * Creates a session for another account, with the same methods as the default session. Its tokens
 * are kept in memory unless `envFile` or `store` is given, and are neither read from the process
 * environment nor written to it.
 *
 * The types of the options are checked at once. Most values are checked when they are first used.
 *
 * @throws {TypeError} If an option is unknown or has the wrong type.
 * @throws {ConfigError} `INVALID_SETTING` if `exportEnv` cannot be used.
 *
 * @example
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
 *
 * await using sandbox = await startSandbox();
 * const session = createSession(sandbox.settings);
 * await session.login();
 * const response = await session.authFetch("/v1/whoami");
 * console.log((await response.json()).username);
 * ```
 */
export function createSession(options: SessionOptions = {}): Session {
  // The copy has the fields only, which are the public methods.
  return Object.freeze({ ...new AccountSession(options, false) });
}

/**
 * Calls the API as {@linkcode authFetch} does, and also returns the error for a status outside 2xx.
 * Used by the command line.
 */
export function checkedFetch(input: string, init: RequestInit): Promise<CheckedResponse> {
  return defaultSession().checkedFetch(input, init);
}

/** The base of relative paths, if the settings have one. Used by the command line. */
export function apiBase(): URL | undefined {
  return defaultSession().apiBase();
}

/** Reads the session from the store, if a store is set. Used by the command line. */
export function readStore(): Promise<void> {
  return defaultSession().readStore();
}
