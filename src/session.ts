import { fetchWithToken } from "./api/auth_fetch.ts";
import type { Download, DownloadOptions } from "./api/download.ts";
import type { DownloadAllOptions, DownloadItems, Downloads } from "./api/download_all.ts";
import type { FetchJsonInit } from "./api/fetch_json.ts";
import { cancellable, cancellableAnswer } from "./platform/interrupt.ts";
import type { Diagnosis } from "./show/diagnosis.ts";
import {
  displayable,
  displayableDiagnosis,
  displayableDownload,
  displayableDownloads,
} from "./show/displayable.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import { AuthError, ConfigError, isTransient, typeError } from "./errors/errors.ts";
import type { LoginOptions, LoginResult } from "./session/login.ts";
import { checkOptions } from "./errors/arguments.ts";
import type { SessionOptions } from "./settings/options.ts";
import { checkOptionTexts } from "./settings/settings.ts";
import { displayPath } from "./platform/paths.ts";
import { inKernel } from "./errors/front_end.ts";
import { Configuration } from "./session/configuration.ts";
import { type SessionStatus, statusOf } from "./session/status.ts";
import { Engine, type OpenStore } from "./session/engine.ts";
import { tokensOf } from "./session/state.ts";

/** Options of a refresh. */
export interface RefreshOptions {
  /** Ends this caller's wait; a refresh that others wait for goes on. */
  signal?: AbortSignal;
}

/** Options of {@linkcode Session.accessToken}. */
export interface AccessTokenOptions {
  /**
   * How long the token must still be good, in seconds; where the provider's live shorter, a fresh one
   * is given. Default 0: good now.
   */
  minValidSeconds?: number;
  /** Ends this caller's wait; a refresh that others wait for goes on. */
  signal?: AbortSignal;
}

/** Options of a logout. */
export interface LogoutOptions {
  /** Sign the account out on all devices. Default `false`. */
  everywhere?: boolean;
  /** Tell the provider to revoke the refresh token. Default `true`: if it can, within three seconds. */
  revoke?: boolean;
  /**
   * Ends the wait for another process that is using the `.env`: nothing is changed then. After that it
   * ends the wait for the provider.
   */
  signal?: AbortSignal;
}

/** One account's tokens and what can be done with them. The methods need no `this`. */
export interface Session {
  /** Gets tokens. See {@linkcode login}. */
  login(options?: LoginOptions): Promise<SessionStatus>;
  /** Refreshes now. See {@linkcode refresh}. */
  refresh(options?: RefreshOptions): Promise<SessionStatus>;
  /** `fetch` with the token. See {@linkcode authFetch}. */
  authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The parsed body of an answer. See {@linkcode fetchJson}. */
  // deno-lint-ignore no-explicit-any
  fetchJson<T = any>(input: string | URL | Request, init?: FetchJsonInit): Promise<T>;
  /** Saves an answer as a file. See {@linkcode download}. */
  download(
    input: string | URL | Request,
    file: string | URL,
    options?: DownloadOptions,
  ): Promise<Download>;
  /** Saves many files. See {@linkcode downloadAll}. */
  downloadAll(items: DownloadItems, options?: DownloadAllOptions): Promise<Downloads>;
  /** A current bare token. See {@linkcode accessToken}. */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /** Who, until when. See {@linkcode status}. */
  status(): SessionStatus;
  /** Looks for what is wrong. See {@linkcode doctor}. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>;
  /** Forgets the tokens. See {@linkcode logout}. */
  logout(options?: LogoutOptions): Promise<SessionStatus>;
}

/** A session whose options can be replaced. */
export interface ConfigurableSession extends Session {
  configure(options: SessionOptions): void;
}

/**
 * Makes a session. Nothing is read before its first use.
 *
 * @param openStore Makes its store, in tests.
 */
export function makeSession(
  options: SessionOptions,
  isDefault: boolean,
  openStore?: OpenStore,
): ConfigurableSession {
  const maker = isDefault ? "configure()" : "createSession()";
  let engine = engineFor(new Configuration(maker, options, isDefault));

  function engineFor(configuration: Configuration): Engine {
    return new Engine(configuration, withCurrentSettings, openStore);
  }

  /** Returns the engine for the current settings; another one if the account changed. */
  function withCurrentSettings(): Engine {
    const { configuration } = engine;
    if (configuration.isRead) change(configuration.reread());
    return engine;
  }

  /** Goes on with another configuration. Tokens in memory stay only with their own account. */
  function change(next: Configuration, first = next): void {
    if (engine.configuration.isSameAccount(next)) return engine.replaceConfiguration(next);
    engine.detach();
    engine = engineFor(first);
  }

  function show(): SessionStatus {
    const { configuration, current, notices } = engine;
    return displayable(statusOf(configuration, notices, current));
  }

  /** Looks at the `.env` first: another process may have ended the session. */
  function status(): SessionStatus {
    engine.readStore();
    return show();
  }

  async function login(given: LoginOptions = {}): Promise<SessionStatus> {
    if (typeof given === "string") {
      throw typeError(
        "login() takes an options object, as in login({ username, password }); " +
          "login() alone asks, so that no password stands in the code",
      );
    }
    checkOptions("login()", given, {
      username: ["string"],
      password: ["string"],
      portalToken: ["string"],
      strategy: ["string"],
      force: ["boolean", "false"],
      signal: ["AbortSignal"],
      onChallenge: ["function"],
    });
    return await cancellable("login()", given.signal, async (signal, onCounts) => {
      const account = withCurrentSettings();
      const order = account.begin();
      await account.ready();
      const { portalToken, username, password, strategy, force } = given;
      const plain = [portalToken, username, password, strategy].every((it) => it === undefined);
      if (account.configuration.isByCommand) {
        await loginByCommand(account, plain, force === true, signal);
        return show();
      }
      if (plain && force !== true && await isGood(account, signal)) return show();
      // Loaded on demand: only a login needs it.
      const { checkLoginOptions, obtainTokens } = await import("./session/login.ts");
      checkLoginOptions(given);
      signal?.throwIfAborted();
      const finish = async (
        { tokens, clockOffsetMs, notices }: LoginResult,
        signal: AbortSignal | undefined,
        onCounts: () => void,
      ) => {
        signal?.throwIfAborted();
        // An answer that comes after a logout or a later login is dropped.
        await account.login(tokens, order, signal, onCounts);
        if (account.isWanted(order)) {
          account.notices.learnClock(clockOffsetMs);
          account.notices.replace(notices);
        }
        return show();
      };
      const { configuration, notices: { clockOffsetMs } } = account;
      const result = await obtainTokens(configuration, given, signal, clockOffsetMs, {
        keyDisplay: () => import("./show/key_display.ts"),
        inLaterCall: (work) =>
          cancellable("respond()", undefined, async (signal, onCounts) => {
            const isWanted = account.isWanted(order);
            return await finish(await work(signal, isWanted), signal, onCounts);
          }),
      });
      return await finish(result, signal, onCounts);
    });
  }

  async function refresh(given: RefreshOptions = {}): Promise<SessionStatus> {
    checkOptions("refresh()", given, { signal: ["AbortSignal"] });
    return await cancellable("refresh()", given.signal, async (signal) => {
      await withCurrentSettings().refresh(signal);
      return show();
    });
  }

  function authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const callers = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    // Fast path: every extra promise shows in the per-call benchmark.
    if (callers === undefined && !inKernel()) return fetchWithToken(engine, input, init);
    return cancellableAnswer(
      "authFetch()",
      callers,
      (signal) => fetchWithToken(engine, input, init, signal),
    );
  }

  async function fetchJson<T>(
    input: string | URL | Request,
    init?: FetchJsonInit,
  ): Promise<T> {
    const callers = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    return await cancellable("fetchJson()", callers, async (signal) => {
      // Loaded on demand: other calls need none of it.
      const { fetchParsed } = await import("./api/fetch_json.ts");
      return await fetchParsed<T>(engine, input, init, signal);
    });
  }

  async function download(
    input: string | URL | Request,
    file: string | URL,
    given: DownloadOptions = {},
  ): Promise<Download> {
    checkOptions("download()", given, {
      ifExists: ["string"],
      overwrite: ["boolean", "false"],
      resume: ["boolean", "false"],
      init: ["object"],
      onProgress: ["function"],
      idleTimeoutMs: ["number"],
      signal: ["AbortSignal"],
    });
    const signals = [given.signal, given.init?.signal, input instanceof Request && input.signal]
      .filter((it) => it instanceof AbortSignal);
    const callers = signals.length === 0 ? undefined : AbortSignal.any(signals);
    return await cancellable("download()", callers, async (signal) => {
      const { downloadTo, pathOfFile } = await import("./api/download.ts");
      const path = pathOfFile("download()", file, "as its second argument");
      const { OF_ONE_FILE, progressLine } = await import("./show/progress.ts");
      const { monotonic } = engine.world;
      const line = given.onProgress
        ? undefined
        : progressLine(displayPath(path), monotonic, OF_ONE_FILE);
      const options = { ...given, ...(line && { onProgress: line.show }) };
      try {
        return displayableDownload(await downloadTo(engine, input, path, options, signal));
      } finally {
        line?.end();
      }
    });
  }

  async function downloadAll(
    items: DownloadItems,
    given: DownloadAllOptions = {},
  ): Promise<Downloads> {
    checkOptions("downloadAll()", given, {
      at: ["number"],
      ifExists: ["string"],
      init: ["object"],
      idleTimeoutMs: ["number"],
      onProgress: ["function"],
      signal: ["AbortSignal"],
    });
    const signals = [given.signal, given.init?.signal].filter((it) => it instanceof AbortSignal);
    const callers = signals.length === 0 ? undefined : AbortSignal.any(signals);
    return await cancellable("downloadAll()", callers, async (signal) => {
      const { downloadItems } = await import("./api/download_all.ts");
      const { OF_MANY_FILES, progressLine } = await import("./show/progress.ts");
      const { monotonic } = engine.world;
      const line = given.onProgress ? undefined : progressLine("files", monotonic, OF_MANY_FILES);
      const options = { ...given, ...(line && { onProgress: line.show }) };
      try {
        return displayableDownloads(await downloadItems(engine, items, options, signal));
      } finally {
        line?.end();
      }
    });
  }

  async function accessToken(given: AccessTokenOptions = {}): Promise<string> {
    checkOptions("accessToken()", given, { minValidSeconds: ["number"], signal: ["AbortSignal"] });
    const { minValidSeconds = 0 } = given;
    if (!(minValidSeconds >= 0 && Number.isFinite(minValidSeconds))) {
      throw typeError("accessToken() takes zero or more seconds as minValidSeconds");
    }
    return await cancellable("accessToken()", given.signal, async (signal) => {
      const tokens = await engine.tokens(minValidSeconds * 1_000, signal);
      return tokens.accessToken.reveal();
    });
  }

  async function logout(given: LogoutOptions = {}): Promise<SessionStatus> {
    checkOptions("logout()", given, {
      everywhere: ["boolean", "false"],
      revoke: ["boolean", "false"],
      signal: ["AbortSignal"],
    });
    const { everywhere = false, revoke = true } = given;
    if (everywhere && !revoke) {
      throw typeError("logout() takes either everywhere: true or revoke: false");
    }
    const remote = everywhere ? "everywhere" : revoke ? "revoke" : "keep";
    return await cancellable("logout()", given.signal, async (signal, onCounts) => {
      const ended = await engine.logout(remote, signal, onCounts);
      return Object.assign(show(), { ended });
    });
  }

  async function doctor(given: DoctorOptions = {}): Promise<Diagnosis> {
    checkOptions("doctor()", given, { login: ["boolean", "false"], signal: ["AbortSignal"] });
    return await cancellable("doctor()", given.signal, async (signal) => {
      const { diagnose, undiagnosed } = await import("./doctor/doctor.ts");
      try {
        const { configuration } = withCurrentSettings();
        const session = { configuration, status: status(), tokens: tokensOf(engine.current) };
        return displayableDiagnosis(await diagnose(session, given, signal));
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof AuthError)) throw error;
        return displayableDiagnosis(undiagnosed(error));
      }
    });
  }

  function configure(next: SessionOptions): void {
    if (next === undefined) throw typeError("configure() takes an options object");
    const unread = new Configuration("configure()", next, isDefault);
    // Told here, where they were given, and not by every call that comes after.
    checkOptionTexts(next);
    if (!engine.configuration.isRead) engine = engineFor(unread);
    // Another account's settings are read at its first use, not here.
    else change(new Configuration("configure()", next, isDefault), unread);
  }

  return Object.freeze({
    login,
    refresh,
    authFetch,
    fetchJson,
    download,
    downloadAll,
    accessToken,
    status,
    doctor,
    logout,
    configure,
  });
}

/**
 * What `login()` does where a command gives the tokens. @throws {ConfigError} `INVALID_SETTING` if it
 * is to log in.
 */
async function loginByCommand(
  engine: Engine,
  plain: boolean,
  force: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!plain) {
    throw new ConfigError(
      "INVALID_SETTING",
      "Cannot log in: AUTH_TOKEN_COMMAND (tokenCommand) is set, so the tokens come from that command",
      "log in where it runs, or unset it",
    );
  }
  const isNew = force || engine.isRejected || engine.current.kind === "none";
  await (isNew ? engine.refresh(signal) : engine.tokens(0, signal));
}

/**
 * Whether the session needs no login: the access token is valid, and not rejected by the API, or a
 * refresh succeeds.
 */
async function isGood(engine: Engine, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await engine.tokens(0, signal);
    return !engine.isRejected;
  } catch (error) {
    // A provider that is not there now will not answer a login either.
    if (error instanceof AuthError && !isTransient(error.code)) return false;
    throw error;
  }
}
