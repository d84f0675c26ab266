/**
 * Calls to the API begin here. `api_access.ts` decides where the token may be sent; this file sends,
 * redirects and repeats a call; `checked_call.ts` checks the responses for `fetchJson()`
 * (`fetch_json.ts`) and for downloads (`download.ts`, `download_all.ts`).
 */
import { addressOf, type ApiAccess, apiAccessOf } from "./api_access.ts";
import { type PlainHeaders, plainHeaders, showsToken, withToken } from "./headers.ts";
import { follow, isElsewhere, isRedirect } from "./redirects.ts";
import { readUpTo } from "../platform/body.ts";
import { Stalled } from "../platform/idle.ts";
import { directClient, isSafeTransport, networkReason } from "../platform/transport.ts";
import { failureOf, type Log } from "../platform/log.ts";
import type { RequestEvent } from "../platform/log_event.ts";
import type { World } from "../platform/world.ts";
import { scriptCommand } from "../settings/permissions.ts";
import type { Settings } from "../settings/settings.ts";
import {
  asMisuse,
  AuthError,
  ConfigError,
  missingPermission,
  shownToCaller,
  typeError,
  UnreachableError,
} from "../errors/errors.ts";
import type { Advice } from "../errors/advice.ts";
import type { Tokens } from "../provider/tokens.ts";

/** The account of a call: its settings and its tokens. */
export interface ApiAccount {
  readonly world: World;
  readonly settings: Settings;
  /**
   * Rereads the settings when this module has refused an address: the user may have added the
   * address to the `.env` since the settings were read.
   *
   * @returns The account for this call and later calls: another one if the settings now name
   * another account.
   */
  reread(): ApiAccount;
  /** Returns the tokens if the call can use them without a refresh. */
  fresh(): Tokens | undefined;
  /** Returns valid tokens, refreshed if they are due. */
  tokens(minValidMs?: number, signal?: AbortSignal): Promise<Tokens>;
  /**
   * Replaces tokens that the API has just rejected with a 401. Returns `undefined` if no other
   * tokens are available.
   */
  replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined>;
  /** Whether the API's latest response to the access token was a 401. */
  readonly isRejected: boolean;
  /** Why the refresh after the API's 401 failed; `undefined` if it did not fail. */
  readonly refreshFailure: Advice | undefined;
  /** Records that the API's latest response to these tokens was a 401, or a success. */
  noteResponse(kind: "rejected" | "accepted", tokens: Tokens): void;
  /** Records that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void;
}

/** A call to the API that has been checked and can be sent. */
interface PreparedCall {
  readonly account: ApiAccount;
  /** An address on an allowed origin. */
  readonly address: string;
  readonly input: string | Request;
  readonly init: RequestInit | undefined;
  /** The user's headers; `undefined` if there are none. */
  readonly headers: PlainHeaders | undefined;
  /** Whether the body can be sent a second time. */
  readonly isRepeatable: boolean;
  readonly onSend: OnSend | undefined;
  /** Number of requests sent for this call, without redirects. Only the log needs this number. */
  sent?: number;
}

/**
 * Called before each request of a call. Collects the tokens sent, so that a message that quotes the
 * response can withhold these tokens. Returns the number of the request, for the log.
 */
export type OnSend = (address: string, tokens: Tokens) => number;

/**
 * Another process may have saved the first replacement. If the API rejects that token too, the
 * second replacement comes from a refresh.
 */
const MAX_REPLACEMENTS = 2;

/**
 * Sends a call with a current token. If the API responds with 401, replaces the token and sends the
 * call again, at most twice.
 *
 * @param signal Cancels the call, instead of the signal in `input` or `init`.
 */
export async function fetchWithToken(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal?: AbortSignal,
  onSend?: OnSend,
): Promise<Response> {
  let call = prepare(given, input, init, signal, onSend);
  // `prepare()` may have reread the settings. If the account changed, only the new account has the
  // tokens for this address.
  const { account } = call;
  const aborts = call.init?.signal ?? undefined;
  let tokens = account.fresh() ?? await shownToCaller(account.tokens(0, aborts));
  if (hasOwnBody(call)) call = await withBodyRead(call, call.input);
  let response = await send(call, tokens);
  for (let tries = 1; response.status === 401; tries++) {
    if (isElsewhere(response, call.address)) return response;
    if (!call.isRepeatable || tries > MAX_REPLACEMENTS) {
      account.noteResponse("rejected", tokens);
      return response;
    }
    const renewed = await shownToCaller(account.replaceRejected(tokens, aborts)).catch(
      (error) => {
        response.body?.cancel().catch(() => {});
        throw error;
      },
    );
    if (renewed === undefined) return response;
    await response.body?.cancel();
    tokens = renewed;
    response = await send(call, tokens);
    if (response.status !== 401) account.replacementHelped();
  }
  // The API may reject a token for one path only, so a later success clears the recorded 401.
  if (response.ok && account.isRejected && !isElsewhere(response, call.address)) {
    account.noteResponse("accepted", tokens);
  }
  return response;
}

function prepare(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal: AbortSignal | undefined,
  onSend: OnSend | undefined,
): PreparedCall {
  if (init !== undefined && typeof init !== "object") {
    throw typeError(`authFetch() takes an object of options, not ${typeof init}`);
  }
  const [account, address] = checkedAddress(given, input);
  const isPlain = !init || isPlainObject(init);
  // If `init` is a class instance or a `Request`, spreading it would lose its members. A new
  // `Request` reads them instead.
  const request = isPlain
    ? input instanceof Request ? input : undefined
    : new Request(input instanceof Request ? input : address, init);
  const options = isPlain && init ? init : undefined;
  checkBody(options?.body);
  const headers = options?.headers ?? request?.headers;
  // A redirect is followed without the original `Request`, so the signal of the `Request` is copied
  // to the options.
  const aborts = signal ?? (options?.signal === undefined ? request?.signal : undefined);
  return {
    account,
    address,
    input: request ?? address,
    init: aborts === undefined ? options : { ...options, signal: aborts },
    headers: headers && plainHeaders(headers),
    isRepeatable: isRepeatable(options?.body ?? null),
    onSend,
  };
}

/**
 * @throws {TypeError} If the body is an array or an object that `fetch` would send as `[object
 * Object]`.
 */
function checkBody(body: unknown): void {
  const isData = Array.isArray(body) ||
    (typeof body === "object" && body !== null && isPlainObject(body));
  if (!isData) return;
  throw typeError(
    "A body must be text or bytes, not an object; write body: JSON.stringify(…), and the header content-type",
  );
}

/**
 * Whether spreading an object copies all its members. Spreading a class instance loses some of
 * them.
 */
export function isPlainObject(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Returns the address of a call, and the account to use. If the settings do not allow the address,
 * rereads the settings and checks the address again: the user may have added it to the `.env`.
 */
function checkedAddress(
  account: ApiAccount,
  input: string | URL | Request,
): [ApiAccount, string] {
  if (typeof input !== "string" && !(input instanceof URL) && !(input instanceof Request)) {
    throw typeError(`The address must be a string, a URL or a Request, not ${typeof input}`);
  }
  try {
    return [account, addressOf(input, accessOf(account.settings))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const now = account.reread();
    return [now, addressOf(input, accessOf(now.settings))];
  }
}

/**
 * Returns the address of a call.
 * @throws {ConfigError} `UNTRUSTED_ORIGIN` if the token must not be sent to the address;
 * `MISSING_SETTINGS` if the address is a relative path and `API_BASE_URL` is not set.
 */
export function addressOfCall(account: ApiAccount, input: string | URL | Request): string {
  return checkedAddress(account, input)[1];
}

const accesses = new WeakMap<Settings, ApiAccess>();

export function accessOf(settings: Settings): ApiAccess {
  let access = accesses.get(settings);
  if (access === undefined) accesses.set(settings, access = apiAccessOf(settings));
  return access;
}

/**
 * Maximum length of a `Request` body that is read into memory. A longer body is sent as a stream.
 */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Whether the call sends the body of a `Request`: `init` has no body that replaces it. */
function hasOwnBody(call: PreparedCall): call is PreparedCall & { readonly input: Request } {
  const { input, init } = call;
  return input instanceof Request && input.body !== null && !input.bodyUsed &&
    (init?.body ?? null) === null;
}

/**
 * Reads the body of a `Request` into memory, so that the body can be sent with its length, and sent
 * again. A `Request` does not reveal whether its body is a stream, so every body is read.
 */
async function withBodyRead(call: PreparedCall, request: Request): Promise<PreparedCall> {
  const { bytes, isWhole } = await readUpTo(request.clone().body, MAX_BODY_BYTES);
  if (!isWhole) return { ...call, isRepeatable: false };
  // `fetch` reads the body of a `Request`, so that the caller cannot read it again. This call sends
  // a copy, and cancels the original to the same effect.
  request.body?.cancel().catch(() => {});
  return { ...call, init: { ...call.init, body: bytes } };
}

function isRepeatable(body: BodyInit | null): boolean {
  return body === null || typeof body === "string" || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

async function send(call: PreparedCall, tokens: Tokens): Promise<Response> {
  const { address, input, isRepeatable, onSend } = call;
  const sendTo = (target: string, request: string | Request, init: RequestInit) => {
    const count = onSend?.(target, tokens);
    const { log } = call.account.world;
    return log
      ? loggedAttempt(log, call, request, init, target, count)
      : attempt(call, request, init, target);
  };
  const given: RequestInit = { ...call.init, headers: withToken(call.headers, tokens) };
  const asRequest = input instanceof Request ? input : undefined;
  if ((given.redirect ?? asRequest?.redirect ?? "follow") !== "follow") {
    return await sendTo(address, input, given);
  }
  // The runtime would send the body to any origin that a redirect names, so this module follows
  // redirects itself.
  const init: RequestInit = { ...given, redirect: "manual" };
  const response = await sendTo(address, input, init);
  if (!isRedirect(response)) return response;
  const method = init.method?.toUpperCase() ?? asRequest?.method ?? "GET";
  return await follow(
    { address, method, init, isRepeatable },
    response,
    (target, next) => sendTo(target, target, next),
  );
}

async function attempt(
  call: PreparedCall,
  request: string | Request,
  init: RequestInit,
  target: string,
): Promise<Response> {
  const { world, settings } = call.account;
  const { fetch: send = fetch } = world;
  try {
    // To check the environment for a proxy would slow down every call, so `proxied` was set when
    // the settings were read.
    if (!accessOf(settings).proxied || send !== fetch) return await send(request, init);
    const url = new URL(target);
    return isSafeTransport(url)
      ? await sendPastProxy(request, init, url)
      : await fetch(request, init);
  } catch (error) {
    throw safeError(error, init, new URL(target), call);
  }
}

async function loggedAttempt(
  log: Log,
  call: PreparedCall,
  request: string | Request,
  init: RequestInit,
  target: string,
  count: number | undefined,
): Promise<Response> {
  const { world } = call.account;
  if (target === call.address) call.sent = (call.sent ?? 0) + 1;
  const attemptNumber = count ?? call.sent ?? 1;
  const started = world.monotonic();
  const logResult = (result: Pick<RequestEvent, "status" | "error">) => {
    const { origin, pathname } = new URL(target);
    log({
      event: "request",
      to: "api",
      method: init.method?.toUpperCase() ?? (request instanceof Request ? request.method : "GET"),
      // The API chose the address of a redirect, so the path may contain a secret.
      url: target === call.address ? origin + pathname : `${origin}/…`,
      ...result,
      milliseconds: Math.round(world.monotonic() - started),
      attempt: attemptNumber,
    });
  };
  try {
    const response = await attempt(call, request, init, target);
    logResult({ status: response.status });
    return response;
  } catch (error) {
    const failure = error instanceof Stalled
      ? "API_TIMEOUT"
      : error instanceof UnreachableError
      ? error.code
      : failureOf(error, init.signal);
    logResult({ error: failure });
    throw error;
  }
}

/** Sends a call. If the address is on loopback with http:, the call does not use the proxy. */
async function sendPastProxy(
  request: string | Request,
  init: RequestInit,
  url: URL,
): Promise<Response> {
  using client = directClient(url);
  return await fetch(request, { ...init, ...(client && { client }) });
}

const CHECK_NETWORK = "check the address, the network and any proxy, then try again";

/**
 * Makes the error for a host that cannot be reached. For a redirect, the message shows only the
 * origin, because the rest of the address may be secret.
 */
function networkError(
  call: PreparedCall,
  { origin }: URL,
  reason: string,
  fix = CHECK_NETWORK,
  cause?: Error,
): TypeError {
  const first = new URL(call.address);
  const asked = first.origin + first.pathname;
  const where = origin === first.origin ? asked : `${origin}, to which ${asked} redirected`;
  return new UnreachableError(`Cannot reach ${where} (${reason})`, fix, cause);
}

/**
 * Replaces an error that may reveal headers or a query. The runtime's errors quote headers and
 * queries, and a `fetch` passed as an option may attach them to its errors.
 */
function safeError(
  error: unknown,
  { headers, signal }: RequestInit,
  url: URL,
  call: PreparedCall,
): unknown {
  if (showsToken(error, headers)) {
    return signal?.aborted ? signal.reason : networkError(call, url, "the request failed");
  }
  if (signal?.aborted || error instanceof AuthError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const command = scriptCommand(call.account.settings);
    const flag = `--allow-net=${url.host}`;
    return missingPermission(`reach the API at ${url.host}`, flag, `run: ${command}`);
  }
  if (!(error instanceof TypeError)) return error;
  const cause = error.cause instanceof Error ? error.cause.message : "";
  const { words, fix, isKnown } = networkReason(error);
  // The runtime's own error is kept if it explains a misuse of `fetch`, such as a body that was
  // already read.
  if (!isKnown && !/header|url|:\/\//i.test(`${error.message} ${cause}`)) return asMisuse(error);
  return networkError(call, url, words, fix, error);
}
