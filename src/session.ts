import { fetchWithToken } from "./api/auth_fetch.ts";
import { cancellable } from "./runtime/interrupt.ts";
import type { Diagnosis } from "./display/diagnosis.ts";
import { displayable, displayableDiagnosis } from "./display/displayable.ts";
import type { DoctorOptions } from "./doctor/doctor.ts";
import { AuthError } from "./values/errors.ts";
import type { LoginOptions } from "./session/login.ts";
import { checkOptions, type SessionOptions } from "./settings/options.ts";
import { inKernel } from "./runtime/prompt.ts";
import { chosenWords, endpointText } from "./provider/provider_settings.ts";
import { SessionContext } from "./session/configuration.ts";
import { type SessionStatus, statusOf } from "./session/status.ts";
import { TokenKeeper } from "./session/keeper.ts";

/** Options of a refresh. */
export interface RefreshOptions {
  /** Ends this caller's wait; a refresh that others wait for goes on. */
  signal?: AbortSignal;
}

/** Options of {@linkcode Session.accessToken}. */
export interface AccessTokenOptions {
  /** How long the token must still be good, in seconds; where the provider's live shorter, a fresh one is given. Default 0: good now. */
  minValidSeconds?: number;
  /** Ends this caller's wait; a refresh that others wait for goes on. */
  signal?: AbortSignal;
}

/** Options of a logout. */
export interface LogoutOptions {
  /** Ends the wait for another process that is using the `.env`. */
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
  /** A current bare token. See {@linkcode accessToken}. */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /** Who, until when. See {@linkcode status}. */
  status(): SessionStatus;
  /** Looks for what is wrong. See {@linkcode doctor}. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>;
  /** Forgets the tokens. See {@linkcode logout}. */
  logout(options?: LogoutOptions): Promise<void>;
}

/** A session whose options can be replaced. */
export interface ConfigurableSession extends Session {
  configure(options: SessionOptions): void;
}

/** Makes a session. Nothing is read before its first use. */
export function makeSession(options: SessionOptions, isDefault: boolean): ConfigurableSession {
  const caller = isDefault ? "configure()" : "createSession()";
  checkOptions(caller, options);
  let current: { context: SessionContext; keeper: TokenKeeper } | undefined;

  function use(): { context: SessionContext; keeper: TokenKeeper } {
    return current ??= start(new SessionContext(caller, options, isDefault));
  }

  /** With the settings as they are now. If the `.env` names another account, its tokens in memory go. */
  function useAnew(): { context: SessionContext; keeper: TokenKeeper } {
    const { context, keeper } = use();
    if (!context.isRead) return { context, keeper };
    const before = identityOf(context);
    context.reload();
    if (identityOf(context) === before) return { context, keeper };
    keeper.leave();
    return current = start(new SessionContext(caller, context.options, isDefault));
  }

  function show(): SessionStatus {
    const { context, keeper } = use();
    return displayable(statusOf(context, keeper.peek()));
  }

  async function login(given: LoginOptions = {}): Promise<SessionStatus> {
    checkOptions("login()", given, {
      username: ["string"],
      password: ["string"],
      portalToken: ["string"],
      strategy: ["string"],
      force: ["boolean", "false"],
      signal: ["AbortSignal"],
    });
    return await cancellable("login()", given.signal, async (signal) => {
      const { context, keeper } = useAnew();
      const turn = keeper.takeTurn();
      const { portalToken, username, password, strategy, force } = given;
      const plain = [portalToken, username, password, strategy].every((it) => it === undefined);
      if (plain && force !== true && await isGood(keeper)) return show();
      // What only a login needs is no part of every start.
      const { checkLoginOptions, obtainTokens } = await import("./session/login.ts");
      checkLoginOptions(given);
      signal?.throwIfAborted();
      const tokens = await obtainTokens(context, given, signal);
      signal?.throwIfAborted();
      // An answer that comes after a logout or a later login is dropped.
      await keeper.adopt(tokens, turn);
      return show();
    });
  }

  async function refresh(given: RefreshOptions = {}): Promise<SessionStatus> {
    checkOptions("refresh()", given, { signal: ["AbortSignal"] });
    return await cancellable("refresh()", given.signal, async () => {
      await useAnew().keeper.refresh();
      return show();
    });
  }

  function authFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const caller = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    if (current !== undefined && caller === undefined && !inKernel()) {
      // The way of nearly every call: each layer of promises more would be felt.
      return fetchWithToken(current.context, current.keeper, input, init);
    }
    return cancellable("authFetch()", caller, (signal) => {
      const { context, keeper } = use();
      // What is no object is told by the check of the arguments.
      const bound = signal === caller || signal === undefined || typeof (init ?? {}) !== "object"
        ? init
        : { ...init, signal };
      return fetchWithToken(context, keeper, input, bound);
    });
  }

  async function accessToken(given: AccessTokenOptions = {}): Promise<string> {
    checkOptions("accessToken()", given, { minValidSeconds: ["number"], signal: ["AbortSignal"] });
    const { minValidSeconds = 0 } = given;
    if (!(minValidSeconds >= 0 && Number.isFinite(minValidSeconds))) {
      throw new TypeError("accessToken() takes zero or more seconds as minValidSeconds");
    }
    return await cancellable("accessToken()", given.signal, async () => {
      const tokens = await use().keeper.current(minValidSeconds * 1_000);
      return tokens.accessToken.reveal();
    });
  }

  async function logout(given: LogoutOptions = {}): Promise<void> {
    checkOptions("logout()", given, { signal: ["AbortSignal"] });
    await cancellable("logout()", given.signal, () => use().keeper.clear());
  }

  async function doctor(given: DoctorOptions = {}): Promise<Diagnosis> {
    checkOptions("doctor()", given, { login: ["boolean", "false"], signal: ["AbortSignal"] });
    return await cancellable("doctor()", given.signal, async (signal) => {
      const { diagnose, undiagnosed } = await import("./doctor/doctor.ts");
      try {
        const { context } = use();
        context.reload();
        return displayableDiagnosis(await diagnose(context, show(), given, signal));
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof AuthError)) throw error;
        return displayableDiagnosis(undiagnosed(error));
      }
    });
  }

  function configure(next: SessionOptions): void {
    if (next === undefined) throw new TypeError("configure() takes an options object");
    const context = new SessionContext("configure()", next, isDefault);
    if (current && identityOf(current.context) === identityOf(context)) {
      current.context.become(context);
      current.keeper.mirrorAnew();
      return;
    }
    current?.keeper.leave();
    context.forget();
    current = start(context);
  }

  return Object.freeze({
    login,
    refresh,
    authFetch,
    accessToken,
    status: show,
    doctor,
    logout,
    configure,
  });
}

function start(context: SessionContext): { context: SessionContext; keeper: TokenKeeper } {
  return { context, keeper: new TokenKeeper(context) };
}

/** What tokens in memory belong to: if it changes, they are dropped. */
function identityOf(context: SessionContext): string {
  const { settings, options } = context;
  return JSON.stringify([
    settings.envFile,
    endpointText(options, settings),
    chosenWords(options, settings),
    settings.text("clientId"),
    settings.text("userPoolId"),
  ]);
}

/** Whether the session needs no login: the access token is valid, and not refused by the API, or a refresh succeeds. */
async function isGood(keeper: TokenKeeper): Promise<boolean> {
  try {
    return !keeper.isRefused(await keeper.current());
  } catch (error) {
    // A provider that is not there now will not answer a login either.
    const transient = ["UNREACHABLE", "TIMEOUT", "THROTTLED", "SERVER_ERROR"];
    if (error instanceof AuthError && !transient.includes(error.code)) return false;
    throw error;
  }
}
