import type { Download, DownloadOptions } from "./api/download.ts";
import type { DownloadAllOptions, DownloadItem, Downloads } from "./api/download_all.ts";
import type { FetchJsonInit } from "./api/fetch_json.ts";
import type { Diagnosis } from "./show/diagnosis.ts";
import { displayableSession } from "./show/displayable.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import type { LoginOptions } from "./session/login.ts";
import type { SessionOptions } from "./settings/options.ts";
import {
  type AccessTokenOptions,
  type ConfigurableSession,
  type LogoutOptions,
  makeSession,
  type RefreshOptions,
  type Session,
} from "./session.ts";
import type { SessionStatus } from "./session/status.ts";

/** One session a process, also where a notebook imports the module a second time under another URL. */
const KEY = Symbol.for("platform-auth default session 0");

function defaultSession(): ConfigurableSession {
  const shared = globalThis as { [KEY]?: ConfigurableSession };
  return shared[KEY] ??= makeSession({}, true);
}

/**
 * Sets the options of the default session, in place of those set before; may be called again, as a
 * cell that is run twice does. If provider, client or file change, tokens in memory are dropped,
 * never those in a file.
 *
 * @throws {TypeError} If an option is not known or has another type.
 * @throws {ConfigError} `INVALID_SETTING` if an option cannot be used.
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
 * Gets tokens (section 5.2 of the API document): from a portal string, from user name and password,
 * or by asking. A session that is good is kept, unless an option asks for something else. The tokens
 * are kept in the `.env`. Further steps that the provider wants, such as a new password or a code, are
 * asked for, or answered by `onChallenge`. Without an account the sandbox takes the place of the
 * platform: {@linkcode configure} has an example.
 *
 * Needs `--allow-net` for the provider, `--allow-read` and `--allow-write` for the folder of the
 * `.env`, and `--allow-env` for settings in the environment.
 *
 * @returns Who, until when; never a token.
 * @throws {ConfigError} `MISSING_SETTINGS`, `INVALID_SETTING`, `INVALID_PORTAL_TOKEN`, `PERMISSION`,
 *   `PROMPT_UNAVAILABLE`: nothing was sent.
 * @throws {ProviderError} `INVALID_CREDENTIALS`, `LOCKED_OUT`, `UNREACHABLE` and the like: what the
 *   provider said.
 * @throws {ChallengeError} `CHALLENGE_REQUIRED` if a further step is left unanswered;
 *   `CODE_REJECTED`, `NEW_PASSWORD_REJECTED`, `CHALLENGE_EXPIRED`.
 * @throws {TypeError} If an option is not known, has another type, or contradicts another one.
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
 * Refreshes the session now, whatever time is left (section 5.2.3 of the API document). Rarely
 * needed: {@linkcode authFetch} keeps the token current. Joins a refresh that is under way.
 *
 * @throws {SessionExpiredError} `NO_SESSION`, `CANNOT_REFRESH`, `REFRESH_REJECTED`,
 *   `REFRESH_WINDOW_OVER`: log in again.
 * @throws {ConfigError} `MISSING_SETTINGS`, `INVALID_SETTING`: nothing was sent.
 * @throws {ProviderError} What else the provider said.
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
 * `fetch` with the same signature; adds `authorization: bearer <token>` (section 5.1 of the API
 * document), current before every call. A relative path is resolved against `API_BASE_URL`. When the
 * API answers 401 the token is refreshed and the call sent again, once, if its body can be sent twice.
 * The token goes only to the origins of `API_BASE_URL` and `API_ALLOWED_ORIGINS`.
 *
 * @throws {SessionExpiredError} `NO_SESSION` without a session; `CANNOT_REFRESH`, `REFRESH_REJECTED`,
 *   `REFRESH_WINDOW_OVER` if it ended.
 * @throws {ProviderError} If the token had ended and could not be refreshed: `UNREACHABLE`, `TIMEOUT`
 *   and the like.
 * @throws {ConfigError} `UNTRUSTED_ORIGIN`, `MISSING_SETTINGS`, `PERMISSION`: nothing was sent.
 * @throws {TypeError} Where `fetch` throws one, and on an `authorization` header of the caller's own.
 *
 * @example
 * ```ts
 * import { authFetch, login } from "@platform-auth/platform-auth";
 *
 * await login();
 * const answer = await authFetch("/v1/stations");
 * console.log(answer.status, (await answer.json()).length);
 * ```
 */
export function authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  return defaultSession().authFetch(input, init);
}

/**
 * As {@linkcode authFetch}, and parses the body. Any other answer than 2xx with JSON is an error. A GET
 * or HEAD that is answered 429 or 503 is repeated after the time that `Retry-After` asks for, at most
 * `retries` times (3) within `retryWithinMs` (60 000). So is one that brings nothing for
 * `idleTimeoutMs` (60 000). Nothing else is repeated.
 *
 * The type of the body is `any` unless it is given, as that of `Response.json()`.
 *
 * @throws {ApiError} `API_STATUS`: the API refused; `API_BODY`: the body is no JSON; `API_TIMEOUT`:
 *   nothing came.
 * @throws {SessionExpiredError | ProviderError | ConfigError} As {@linkcode authFetch}.
 * @throws {TypeError} Where `fetch` throws one.
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
 * Saves an answer as a file. Until the file is whole, it is a private part file beside the target; its
 * length, and its digest where the API gives one, are checked. A transfer that breaks resumes where it
 * stopped, also when the token or a presigned address expired, and where nothing came for a minute
 * (`idleTimeoutMs`). A later process resumes it, too: run the same call again. The notebook or the
 * terminal shows the progress.
 *
 * Needs `--allow-read` and `--allow-write` for the folder of the file.
 *
 * @param file Path or `file:` URL. What is no regular file, such as a pipe, is written into.
 * @returns What was saved; shows as a card in a notebook.
 * @throws {ApiError} `API_STATUS`: the API refused; `API_BODY`: a web page or nothing came in place
 *   of the file; `API_TIMEOUT`: nothing came for `idleTimeoutMs`; `DOWNLOAD_BROKEN`: the file is not
 *   whole.
 * @throws {ConfigError} `INVALID_SETTING`: the file is there already, or cannot be saved.
 * @throws {SessionExpiredError | ProviderError | ConfigError} As {@linkcode authFetch}.
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
 * Saves many files, a few at once, each as {@linkcode download} does. What is there already is kept, so
 * the same call, or the same cell, goes on after a break, a Stop or a restart, also beside another
 * process with the same list. A file that fails does not end the others: it is in `failed`. What all
 * files would fail for does, and is thrown: no session, no permission, a full disk, an API that never
 * answered. A 429 or a `Retry-After` slows all of them down together. The notebook or the terminal
 * shows the progress.
 *
 * An array, or another iterable that is not async, is checked as a whole before anything is sent. An
 * async iterable may be of any length: it is read at most twice `concurrency` items ahead. The memory
 * holds the downloads that run, the path of each file, and the lists of the result: the first 100 000
 * files of each kind. `counts` has all of them.
 *
 * Needs `--allow-read` and `--allow-write` for the folders of the files.
 *
 * @param items Pairs of what to ask for and where to save it.
 * @returns What was saved, kept and failed; shows as a card in a notebook.
 * @throws {ConfigError} `INVALID_SETTING`: two items are saved as one file, or the disk is full;
 *   `PERMISSION`, `MISSING_SETTINGS`.
 * @throws {ApiError} `API_STATUS` with `status` 401: the API refused the token.
 * @throws {SessionExpiredError | ProviderError} As {@linkcode authFetch}.
 * @throws {TypeError} For what is no pair, and where the API cannot be reached at all.
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
  items: Iterable<DownloadItem> | AsyncIterable<DownloadItem>,
  options?: DownloadAllOptions,
): Promise<Downloads> {
  return defaultSession().downloadAll(items, options);
}

/**
 * A current bare access token, for other clients: a database driver, `curl`, a child process. Treat
 * it as a password.
 *
 * @throws {SessionExpiredError} `NO_SESSION`, `CANNOT_REFRESH`, `REFRESH_REJECTED`,
 *   `REFRESH_WINDOW_OVER`: log in.
 * @throws {ProviderError | ConfigError} If it had to be refreshed and that failed.
 * @throws {TypeError} If `minValidSeconds` is below zero or no number.
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
 * Who is signed in, until when, refreshable until about when, where it came from. Asks nobody;
 * looks at the `.env`, where another process may have ended the session.
 *
 * @throws {ConfigError} `INVALID_SETTING` if a setting cannot be read, `ENV_FILE` if the working
 *   folder was removed.
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
 * Checks everything that a login and a call need: settings and where they came from, the `.env`, the
 * clock, the provider, the API, whether the API takes the access token, proxies, permissions. Sends the
 * token to `API_BASE_URL` only. Changes nothing and shows nothing secret. With `login: true` it also
 * tries a login and a refresh, and ends that login again. Where the process may run git
 * (`--allow-run=git`), it also checks that git ignores the `.env`.
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
 * Forgets the tokens in memory, in the process environment and in the `.env`. Then it asks the provider
 * to revoke the refresh token, and waits for at most three seconds; for a refresh that was under way,
 * whose token is revoked too, as long again. The API document does not describe revocation: the request
 * is the public protocol's RevokeToken, with `everywhere` GlobalSignOut. Other processes on the same
 * `.env` notice at their next refresh. An access token is good until it expires.
 *
 * @returns The status. Its `ended` tells how far the logout went: `here`, `provider` or `everywhere`; one
 * of its `notes` says it in words. It is no error if the provider does not help.
 * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if the tokens are still in the
 * file or the store.
 * @throws {TypeError} If `everywhere` and `revoke: false` are both given.
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
 * Another account beside the default one, with the same methods. It is kept in memory only unless
 * `envFile` is given, never mirrors to the process environment and takes no token from it.
 *
 * @throws {TypeError} If an option is not known or has another type.
 *
 * @example
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
 *
 * await using sandbox = await startSandbox();
 * const session = createSession(sandbox.settings);
 * await session.login();
 * const answer = await session.authFetch("/v1/whoami");
 * console.log((await answer.json()).username);
 * ```
 */
export function createSession(options: SessionOptions = {}): Session {
  const { configure: _, ...session } = makeSession(options, false);
  return Object.freeze(displayableSession(session));
}
