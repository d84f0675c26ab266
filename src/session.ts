import { fetchWithToken } from "./api/auth_fetch.ts";
import { accessOf } from "./api/api_access.ts";
import type { CallErrors } from "./api/call_errors.ts";
import type { Download, DownloadOptions } from "./api/download/download.ts";
import type { DownloadAllOptions, Downloads } from "./api/download/download_all.ts";
import type { DownloadItem } from "./api/download/items.ts";
import type { FetchJsonInit } from "./api/fetch_json.ts";
import { cancellable, cancellableResponse } from "./platform/interrupt.ts";
import type { Diagnosis } from "./show/diagnosis.ts";
import { displayable } from "./show/displayable.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import { type ApiError, AuthError, ConfigError, isTransient, typeError } from "./errors/errors.ts";
import type { LoginOptions } from "./session/login.ts";
import { checkOptions } from "./errors/arguments.ts";
import type { SessionOptions } from "./settings/options.ts";
import { checkOptionTexts } from "./settings/settings.ts";
import { displayPath } from "./files/paths.ts";
import { inKernel } from "./errors/advice.ts";
import type { World } from "./platform/world.ts";
import type { ProgressText } from "./show/progress.ts";
import { Configuration } from "./session/configuration.ts";
import { type SessionStatus, statusOf } from "./session/status.ts";
import { Engine } from "./session/engine.ts";
import { tokensOf } from "./session/state.ts";
import { mayBelongTo } from "./session/whose.ts";

/** Options of {@linkcode refresh}. */
export interface RefreshOptions {
  /**
   * Cancels this call. The refresh itself continues if other callers wait for it, or if its request
   * was sent.
   */
  signal?: AbortSignal;
}
/** Options of {@linkcode accessToken}. */
export interface AccessTokenOptions {
  /**
   * Minimum time for which the token must remain valid, in seconds. Default 0. A token that cannot
   * be refreshed is returned as long as it is valid.
   *
   * If even a new token were not valid for this time, every call would refresh. The time is
   * therefore limited: to the lifetime of a token, less the margin before its expiry in which a
   * call refreshes it. The margin is at most five minutes, and at most a third of the lifetime.
   */
  minValidSeconds?: number;
  /**
   * Cancels this call. The refresh itself continues if other callers wait for it, or if its request
   * was sent.
   */
  signal?: AbortSignal;
}
/** Options of {@linkcode logout}. */
export interface LogoutOptions {
  /** Sign the account out on all devices. Default `false`. */
  everywhere?: boolean;
  /** Ask the provider to revoke the refresh token. Default `true`. */
  revoke?: boolean;
  /**
   * Cancels the logout while it waits, for example for another process that uses the `.env`. Once
   * the tokens are deleted, the signal only ends the wait for the provider.
   */
  signal?: AbortSignal;
}
/** The session of one account. Its methods can be destructured: `const { authFetch } = session`. */
export interface Session {
  /** Logs in. See {@linkcode login}. */
  login(options?: LoginOptions): Promise<SessionStatus>;
  /** Refreshes the tokens now. See {@linkcode refresh}. */
  refresh(options?: RefreshOptions): Promise<SessionStatus>;
  /** Calls the API with the token. See {@linkcode authFetch}. */
  authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Calls the API and parses the response. See {@linkcode fetchJson}. */
  // deno-lint-ignore no-explicit-any
  fetchJson<T = any>(input: string | URL | Request, init?: FetchJsonInit): Promise<T>;
  /** Downloads a file. See {@linkcode download}. */
  download(
    input: string | URL | Request,
    file: string | URL,
    options?: DownloadOptions,
  ): Promise<Download>;
  /** Downloads many files. See {@linkcode downloadAll}. */
  downloadAll(
    items: Iterable<DownloadItem>,
    options?: DownloadAllOptions,
  ): Promise<Downloads>;
  /** Returns a current access token. See {@linkcode accessToken}. */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /** Returns who is logged in, and until when. See {@linkcode status}. */
  status(): SessionStatus;
  /** Checks what a login and a call need. See {@linkcode doctor}. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>;
  /** Ends the session. See {@linkcode logout}. */
  logout(options?: LogoutOptions): Promise<SessionStatus>;
}

/** A response, and the error to report if its status is not 2xx. */
export interface CheckedResponse {
  readonly response: Response;
  readonly error: ApiError | undefined;
  /** Makes the errors for a body that cannot be read. */
  readonly callErrors: CallErrors;
}

const DOWNLOAD_OPTIONS = {
  ifExists: "string",
  init: "object",
  idleTimeoutMs: "number",
  onProgress: "function",
  signal: "AbortSignal",
} as const;

/**
 * The types of the options, by call. A notebook does not check types, so `run()` checks the
 * options.
 */
const OPTIONS = {
  login: {
    username: "string",
    password: "string",
    portalToken: "string",
    strategy: "string",
    force: "boolean",
    signal: "AbortSignal",
    onChallenge: "function",
  },
  refresh: { signal: "AbortSignal" },
  accessToken: { minValidSeconds: "number", signal: "AbortSignal" },
  logout: { everywhere: "boolean", revoke: "boolean", signal: "AbortSignal" },
  doctor: { login: "boolean", signal: "AbortSignal" },
  download: { resume: "boolean", ...DOWNLOAD_OPTIONS },
  downloadAll: { concurrency: "number", ...DOWNLOAD_OPTIONS },
} as const;

/** The options that can contain a signal for canceling the call. */
interface Signals {
  readonly signal?: AbortSignal;
  readonly init?: RequestInit;
}

/**
 * The work of a call. The work calls `onApplied` when the work takes effect. Afterwards, the signal
 * no longer cancels the call.
 */
type Work<Result> = (signal: AbortSignal | undefined, onApplied: () => void) => Promise<Result>;

/** Checks the options of a call and does its work. A signal or the Stop button cancels the call. */
async function run<Result>(
  name: keyof typeof OPTIONS,
  options: Signals,
  work: Work<Result>,
  input?: unknown,
): Promise<Result> {
  checkOptions(`${name}()`, options, OPTIONS[name]);
  const signals = [options.signal, requestSignal(input, options.init)]
    .filter((signal) => signal !== undefined);
  const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  return await cancellable(`${name}()`, signal, work);
}

/**
 * The signal of a request. As with `fetch`, a signal in `init` replaces the signal of a `Request`.
 */
function requestSignal(input: unknown, init?: RequestInit | null): AbortSignal | undefined {
  const signal = init?.signal === undefined && input instanceof Request
    ? input.signal
    : init?.signal;
  return signal instanceof AbortSignal ? signal : undefined;
}

/**
 * The session of the account in the options and settings. The session reads no settings and no files
 * before its first use.
 */
export class AccountSession implements Session {
  readonly #isDefault: boolean;
  readonly #world: Partial<World> | undefined;
  /** The engine of the current account. A change to another account replaces the engine. */
  #engine: Engine;

  /** @param world Parts of the outside world that a test replaces. */
  constructor(options: SessionOptions, isDefault: boolean, world?: Partial<World>) {
    this.#isDefault = isDefault;
    this.#world = world;
    const caller = isDefault ? "configure()" : "createSession()";
    this.#engine = this.#engineFor(this.#configurationOf(caller, options));
  }

  // The public methods are fields, so that they can be destructured and copied.

  readonly login: Session["login"] = (given = {}) =>
    run("login", given, async (signal, onApplied) => {
      const engine = this.#withCurrentSettings();
      const order = engine.nextOrder();
      await engine.lookBeforeLogin(signal);
      if (await isKept(engine, given, signal)) return this.#status();
      // Only a login needs this module, so it is loaded on demand.
      const { checkLoginOptions, obtainTokens } = await import("./session/login.ts");
      checkLoginOptions(given);
      signal?.throwIfAborted();
      const { configuration, memory, notices } = engine;
      const result = await obtainTokens(configuration, given, signal, {
        hold: engine.hold,
        wrongAccount: (username) => engine.wrongAccount(username),
        showKey: async (key) => await (await import("./show/key_display.ts")).showKey(key),
      });
      signal?.throwIfAborted();
      let isApplied = false;
      if (this.#engine === engine && this.#withCurrentSettings() === engine) {
        await engine.login(result.tokens, order, signal, () => {
          isApplied = true;
          onApplied();
        });
      }
      if (!isApplied && this.#engine !== engine) throw accountChanged();
      // Otherwise, a logout or a later login took effect first.
      if (engine.isWanted(order)) {
        memory.learnClock(result.clockOffsetMs);
        notices.set(result.notices);
        const outcome = result.tokens.source === "portal" ? "portal" : "password";
        engine.world.log?.({ event: "login", outcome });
      }
      return displayable(statusOf(engine));
    });

  readonly refresh: Session["refresh"] = (given = {}) =>
    run("refresh", given, async (signal) => {
      await this.#withCurrentSettings().refresh(signal);
      return this.#status();
    });

  readonly authFetch: Session["authFetch"] = (input, init) => {
    const signal = requestSignal(input, init);
    // This fast path creates fewer promises, because each promise slows down a call measurably.
    if (signal === undefined && !inKernel()) {
      return fetchWithToken(this.#engine, input, init);
    }
    return cancellableResponse(
      "authFetch()",
      signal,
      (signal) => fetchWithToken(this.#engine, input, init, signal),
    );
  };

  readonly fetchJson: Session["fetchJson"] = (input, init) =>
    cancellable("fetchJson()", requestSignal(input, init), async (signal) => {
      const { fetchParsed } = await import("./api/fetch_json.ts");
      return await fetchParsed(this.#engine, input, init, signal);
    });

  readonly download: Session["download"] = (input, file, given = {}) =>
    run("download", given, async (signal) => {
      const { downloadTo, pathOfFile } = await import("./api/download/download.ts");
      const path = pathOfFile(file);
      const { displayableDownload } = await import("./show/download_view.ts");
      const { downloadText } = await import("./show/progress.ts");
      const engine = this.#engine;
      const save = (options: DownloadOptions) => downloadTo(engine, input, path, options, signal);
      return displayableDownload(
        await this.#withProgress(displayPath(path), downloadText, given, save),
      );
    }, input);

  readonly downloadAll: Session["downloadAll"] = (items, given = {}) =>
    run("downloadAll", given, async (signal) => {
      const { downloadItems } = await import("./api/download/download_all.ts");
      const { displayableDownloads } = await import("./show/download_view.ts");
      const { downloadsText } = await import("./show/progress.ts");
      const engine = this.#engine;
      const save = (options: DownloadAllOptions) => downloadItems(engine, items, options, signal);
      return displayableDownloads(await this.#withProgress("files", downloadsText, given, save));
    });

  readonly accessToken: Session["accessToken"] = (given = {}) =>
    run("accessToken", given, async (signal) => {
      const { minValidSeconds = 0 } = given;
      if (!(minValidSeconds >= 0 && Number.isFinite(minValidSeconds))) {
        throw typeError("accessToken() takes zero or more seconds as minValidSeconds");
      }
      const tokens = await this.#engine.tokens(minValidSeconds * 1_000, signal);
      return tokens.accessToken.reveal();
    });

  readonly status: Session["status"] = () => {
    // The settings and the store are read again: a user may have edited the .env, and another
    // process may have ended the session.
    this.#withCurrentSettings().adoptChanges();
    return this.#status();
  };

  readonly doctor: Session["doctor"] = (given = {}) =>
    run("doctor", given, async (signal) => {
      const { diagnose, undiagnosed } = await import("./doctor/doctor.ts");
      try {
        const status = this.status();
        const { configuration, current } = this.#engine;
        return await diagnose({ configuration, status, tokens: tokensOf(current) }, given, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof AuthError)) throw error;
        return undiagnosed(error);
      }
    });

  readonly logout: Session["logout"] = (given = {}) =>
    run("logout", given, async (signal, onApplied) => {
      const { everywhere = false, revoke = true } = given;
      if (everywhere && !revoke) {
        throw typeError("logout() cannot take both everywhere: true and revoke: false");
      }
      const remote = everywhere ? "everywhere" : revoke ? "revoke" : "keep";
      const ended = await this.#engine.logout(remote, signal, onApplied);
      return Object.assign(this.#status(), { ended });
    });

  // The following methods are not part of `Session`.

  /** Replaces the options. */
  configure(next: SessionOptions): void {
    if (next === undefined) throw typeError("configure() takes an options object");
    const configuration = this.#configurationOf("configure()", next);
    // An invalid value is reported here, so that the error does not appear only in later calls.
    checkOptionTexts(next);
    // A session without calls reads its settings at its first call.
    if (this.#engine.configuration.isRead) this.#change(configuration);
    else this.#engine = this.#engineFor(configuration);
  }

  /** Calls the API as `authFetch` does, and also returns the error for a status outside 2xx. */
  async checkedFetch(input: string, init: RequestInit): Promise<CheckedResponse> {
    const { CheckedCall } = await import("./api/checked_call.ts");
    const call = new CheckedCall(this.#engine, input, init, undefined, 0);
    const response = await call.send([...new Headers(init.headers)]);
    if (response.ok) return { response, error: undefined, callErrors: call.errors };
    // The caller still prints the body, so only a clone is read. The error needs the original,
    // because a clone loses the redirect that led to the response.
    const text = await call.beginningOf(response.clone());
    return { response, error: call.errors.refused(response, text, 1), callErrors: call.errors };
  }

  /** The base of relative paths, if the settings have one. */
  apiBase(): URL | undefined {
    return accessOf(this.#engine.settings).base;
  }

  /** Reads the session from the store, if a store is set. `status()` does not read the store. */
  readStore(): Promise<void> {
    return this.#withCurrentSettings().readStore();
  }

  #configurationOf(caller: string, options: SessionOptions): Configuration {
    return new Configuration(caller, options, this.#isDefault, undefined, this.#world);
  }

  #engineFor(configuration: Configuration): Engine {
    return new Engine(configuration, () => this.#withCurrentSettings());
  }

  /**
   * Rereads the settings for login(), refresh(), status() and doctor(), and for a call whose
   * address was refused. Other calls use the settings that were read last.
   *
   * @returns The engine for these settings: a new engine if the account changed.
   */
  #withCurrentSettings(): Engine {
    const { configuration } = this.#engine;
    if (configuration.isRead) this.#change(configuration.reread());
    return this.#engine;
  }

  /** Replaces the configuration. Tokens in memory are kept only if the account stays the same. */
  #change(next: Configuration): void {
    if (this.#engine.configuration.isSameAccount(next)) return this.#engine.configure(next);
    this.#engine.detach();
    this.#engine = this.#engineFor(next);
  }

  #status(): SessionStatus {
    return displayable(statusOf(this.#engine));
  }

  /** Shows a progress line, unless the caller observes the progress. */
  async #withProgress<Progress, Options, Result>(
    name: string,
    text: ProgressText<Progress>,
    options: Options & { onProgress?: (progress: Progress) => void },
    save: (options: Options) => Promise<Result>,
  ): Promise<Result> {
    const { progressLine } = await import("./show/progress.ts");
    const { monotonic } = this.#engine.world;
    const line = options.onProgress ? undefined : progressLine(name, monotonic, text);
    try {
      return await save(line ? { ...options, onProgress: line.show } : options);
    } finally {
      line?.end();
    }
  }
}

/** The error if the account changed during a login. The tokens of the login were not stored. */
function accountChanged(): ConfigError {
  return new ConfigError(
    "INVALID_SETTING",
    "Cannot keep this login: the settings changed to another account while the login was in " +
      "progress",
    ["run ", { call: "login" }, " again"],
  );
}

/**
 * Whether `login()` keeps the session: the option `token` lends a token, or the session is usable.
 */
async function isKept(
  engine: Engine,
  { force, portalToken, username, password, strategy }: LoginOptions,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const plain = [portalToken, username, password, strategy].every((it) => it === undefined);
  if (engine.configuration.isLent) {
    if (!plain) throw loginOfLent();
    const isNew = force || engine.isRejected || engine.current.kind === "none";
    await (isNew ? engine.refresh(signal, true) : engine.tokens(0, signal));
    return true;
  }
  if (!plain || force === true || !await isUsable(engine, signal)) return false;
  engine.world.log?.({ event: "login", outcome: "kept" });
  return true;
}

function loginOfLent(): ConfigError {
  return new ConfigError(
    "INVALID_SETTING",
    "Cannot log in: the option token is set, so every token comes from that function",
    ["run ", { call: "login" }, " without options, or leave out the option token"],
  );
}

/**
 * Whether the session can be used without a login. The session must belong to the user in the
 * settings. In addition, either the access token is valid and the API has not rejected it, or a
 * refresh succeeds.
 */
async function isUsable(engine: Engine, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    // Another process may have logged in or out.
    engine.adoptChanges();
    const user = engine.settings.text("username");
    const known = tokensOf(engine.current);
    if (known && user !== undefined && !mayBelongTo(known, user)) return false;
    if (engine.needsLogin) return false;
    await engine.tokens(0, signal);
    return !engine.isRejected;
  } catch (error) {
    // If the provider cannot be reached, a login would fail as well, so the error is thrown.
    if (error instanceof AuthError && !isTransient(error.code)) return false;
    throw error;
  }
}
