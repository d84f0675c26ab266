import { addressOf, type ApiAccess, apiAccessOf } from "./api_access.ts";
import {
  BAD_HEADER,
  canBeSent,
  type PlainHeaders,
  plainHeaders,
  showsToken,
  withToken,
} from "./headers.ts";
import { followWithin, isRedirect, MAX_REDIRECTS } from "./redirects.ts";
import { directClient, networkReason } from "../platform/transport.ts";
import { unlessAborted } from "../platform/abort.ts";
import type { World } from "../platform/world.ts";
import { endpointText } from "../provider/endpoint.ts";
import type { SessionOptions } from "../settings/options.ts";
import { scriptCommand } from "../settings/permissions.ts";
import type { Settings } from "../settings/settings.ts";
import { causeOf, type ErrorCause } from "../errors/cause.ts";
import {
  AuthError,
  ConfigError,
  missingPermission,
  sentenceOf,
  shownToCaller,
  typeError,
} from "../errors/errors.ts";
import { hideOwnFrames } from "../errors/stack.ts";
import type { Tokens } from "../provider/tokens.ts";
import { printable } from "../errors/escape.ts";

/** The account that a call is made for: its settings and its tokens. */
export interface ApiAccount {
  readonly world: World;
  readonly settings: Settings;
  /** The options that the settings come from, with which the token endpoint is found. */
  readonly configuration: { readonly options: SessionOptions };
  /**
   * Reads the settings again, because an address was refused: the `.env` may have been completed.
   *
   * @returns The account of the call from then on: another one if the settings name another.
   */
  reread(): ApiAccount;
  /** The tokens if they can be used as they are. */
  fresh(): Tokens | undefined;
  /** Tokens that are good now, refreshed if it is time. */
  tokens(minValidMs?: number, signal?: AbortSignal): Promise<Tokens>;
  /** Other tokens than those that the API just rejected; `undefined` if there are none. */
  replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined>;
  /** Notes that the API answered 401 to these tokens. */
  noteRejection(rejected: Tokens): void;
  /** Notes that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void;
}

/** A call to the API, checked and ready to be sent, once or twice. */
interface Call {
  readonly account: ApiAccount;
  /** Where it goes: an address on an allowed origin. */
  readonly address: string;
  readonly input: string | Request;
  readonly init: RequestInit | undefined;
  /** The headers that the user gave; `undefined`: none. */
  readonly headers: PlainHeaders | undefined;
  /** The `Request` that the body is taken from; `undefined` if the body is in `init`, or there is none. */
  readonly bodyOf: Request | undefined;
  readonly observer: CallObserver | undefined;
}

/** Is told of each request of a call. */
export interface CallObserver {
  /** With which tokens it is sent: an answer that repeats them must not be quoted. */
  onSent(tokens: Tokens): void;
  onAnswered(): void;
}

/** One token that another process saved, and one that a refresh brings. */
const MAX_REPLACEMENTS = 2;

/**
 * Sends a call with a current token; refreshes and sends again, once, when the API answers 401.
 *
 * @param signal Ends the call, in place of the signal in `input` or `init`.
 */
export async function fetchWithToken(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal?: AbortSignal,
  observer?: CallObserver,
): Promise<Response> {
  const call = prepare(given, input, init, signal, observer);
  // After a change of account only this one has the tokens that belong to the address.
  const { account } = call;
  const aborts = call.init?.signal ?? undefined;
  let tokens = account.fresh() ?? await shownToCaller(account.tokens(0, aborts));
  const copy = call.bodyOf && new BodyCopy(call.bodyOf);
  try {
    let response = await send(call, tokens, copy);
    for (let tries = 1; response.status === 401; tries++) {
      call.observer?.onAnswered();
      // A 401 from where a redirect led to says nothing about the token, which did not go there.
      const isElsewhere = response.redirected &&
        originOf(response.url) !== originOf(call.address);
      if (isElsewhere) return response;
      const body = tries <= MAX_REPLACEMENTS ? await bodyAgain(call, copy) : undefined;
      if (body === undefined) {
        account.noteRejection(tokens);
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
      response = await send(call, tokens, copy, body);
      if (response.status !== 401) account.replacementHelped();
    }
    return response;
  } finally {
    copy?.drop();
  }
}

function prepare(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal: AbortSignal | undefined,
  observer: CallObserver | undefined,
): Call {
  if (typeof input !== "string" && !(input instanceof URL) && !(input instanceof Request)) {
    throw typeError(`authFetch() takes a string, a URL or a Request, not ${typeof input}`);
  }
  if (init !== undefined && typeof init !== "object") {
    throw typeError(`authFetch() takes an object of options, not ${typeof init}`);
  }
  const [account, address] = checkedAddress(given, input);
  let request = input instanceof Request ? input : undefined;
  let options = init ?? undefined;
  if (options instanceof Request) {
    // Its method, headers and body are no properties of its own, so a copy would lack them.
    request = new Request(request ?? address, options);
    options = undefined;
  }
  const headers = options?.headers ?? request?.headers;
  // In the options, because a redirect is followed without the `Request`.
  const aborts = signal ?? (options?.signal === undefined ? request?.signal : undefined);
  const body = options?.body ?? undefined;
  const takesBody = body === undefined && request?.bodyUsed === false && request.body !== null;
  return {
    account,
    address,
    input: request ?? address,
    init: aborts === undefined ? options : { ...options, signal: aborts },
    headers: headers === undefined ? undefined : plainHeaders(headers),
    bodyOf: takesBody ? request : undefined,
    observer,
  };
}

/** The `.env` may have been completed since the settings were read, so a refusal is checked twice. */
function checkedAddress(
  account: ApiAccount,
  input: string | URL | Request,
): [ApiAccount, string] {
  try {
    return [account, addressOf(input, accessOf(account.settings))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const now = account.reread();
    return [now, addressOf(input, accessOf(now.settings))];
  }
}

/** Where a call goes. @throws {ConfigError} If the token may not go there. */
export function addressOfCall(account: ApiAccount, input: string | URL | Request): string {
  return checkedAddress(account, input)[1];
}

function originOf(address: string): string | undefined {
  return URL.parse(address)?.origin;
}

const accesses = new WeakMap<Settings, ApiAccess>();

function accessOf(settings: Settings): ApiAccess {
  let access = accesses.get(settings);
  if (access === undefined) accesses.set(settings, access = apiAccessOf(settings));
  return access;
}

/** How long an answer waits for the end of the body that it answers: a stream may have none. */
const BODY_END_MS = 10_000;

/** The body to send again: `null` for none, `undefined` if it cannot be sent again. */
async function bodyAgain(
  { account, init }: Call,
  copy: BodyCopy | undefined,
): Promise<BodyInit | null | undefined> {
  if (copy !== undefined) {
    const limit = account.world.timeout(BODY_END_MS);
    return await unlessAborted(limit, copy.whole).catch(() => undefined);
  }
  const body = init?.body ?? null;
  return isRepeatable(body) ? body : undefined;
}

/**
 * Not `async`: every extra promise shows in the per-call benchmark.
 *
 * @param again The body, where it was sent before.
 */
function send(
  call: Call,
  tokens: Tokens,
  copy: BodyCopy | undefined,
  again?: BodyInit | null,
): Promise<Response> {
  const { account, address, input } = call;
  call.observer?.onSent(tokens);
  const init: SentInit = { ...call.init, headers: withToken(call.headers, tokens) };
  if (again) init.body = again;
  const method = init.method?.toUpperCase() ?? (input instanceof Request ? input.method : "GET");
  const redirect = init.redirect ?? (input instanceof Request ? input.redirect : "follow");
  // On GET and HEAD the runtime drops the header where a redirect leaves the origin.
  return redirect !== "follow" || method === "GET" || method === "HEAD"
    ? attempt(account, input, init, address)
    : sendWithin(call, init, method, copy);
}

type SentInit = RequestInit & { headers: PlainHeaders };

/** Sends a request with a body, which must not leave its origin. */
async function sendWithin(
  call: Call,
  init: SentInit,
  method: string,
  copy: BodyCopy | undefined,
): Promise<Response> {
  const { account, address, input } = call;
  const manual: SentInit = { ...init, redirect: "manual" };
  const response = await attempt(account, input, manual, address);
  if (!isRedirect(response)) return response;
  const sent = { address, method, init: manual, body: () => bodyAgain(call, copy) };
  return await followWithin(
    sent,
    response,
    (target, next) => attempt(account, target, next, target),
  );
}

async function attempt(
  account: ApiAccount,
  request: string | Request,
  init: RequestInit,
  address: string,
): Promise<Response> {
  // Checked again: the settings may have changed while the call waited for tokens.
  const access = accessOf(account.settings);
  addressOf(address, access);
  const { fetch: send = fetch } = account.world;
  try {
    // Whether there is a proxy was found out with the settings: doing it here would slow every call.
    return access.proxied && send === fetch
      ? await sendPastProxy(request, init, new URL(address))
      : await send(request, init);
  } catch (error) {
    throw explained(error, init, new URL(address), account);
  }
}

/** A direct client reaches one address only, so each redirect gets its own. */
async function sendPastProxy(
  request: string | Request,
  init: RequestInit,
  url: URL,
): Promise<Response> {
  const given = init.redirect ?? (request instanceof Request ? request.redirect : "follow");
  const follows = given === "follow";
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    using client = directClient(url);
    const redirect = follows ? "manual" : given;
    const response = await fetch(request, { ...init, redirect, ...(client && { client }) });
    if (!follows || !isRedirect(response)) return response;
    await response.body?.cancel();
    const target = new URL(response.headers.get("location") ?? "", url);
    const headers = new Headers(init.headers);
    if (target.origin !== url.origin) headers.delete("authorization");
    [request, init, url] = [target.href, { ...init, headers }, target];
  }
  throw typeError(`Cannot reach ${url.origin}${url.pathname} (too many redirects)`);
}

/** What to do where no reason has advice of its own. */
const CHECK_NETWORK = "check the address, the network and any proxy, then try again";

/** No answer came. It is a `TypeError`, as the runtime's `fetch` throws. */
export class NetworkError extends TypeError {
  /** Class and system code of the error behind it. */
  declare readonly cause?: ErrorCause;
  readonly #reason: string;

  constructor(url: URL, reason: string, fix: string = CHECK_NETWORK, cause?: unknown) {
    const problem = printable(`Cannot reach ${url.origin}${url.pathname} (${reason})`);
    super(sentenceOf({ problem, fix }));
    this.#reason = reason;
    const known = causeOf(cause);
    if (known) Object.defineProperty(this, "cause", { value: known });
    hideOwnFrames(this);
  }

  /** Why, in words without address. */
  get reason(): string {
    return this.#reason;
  }
}

/**
 * What an error means, without the headers and queries that the runtime quotes and a replaced `fetch`
 * may attach.
 */
function explained(
  error: unknown,
  { headers, signal }: RequestInit,
  url: URL,
  { configuration, settings }: ApiAccount,
): unknown {
  if (!canBeSent(headers)) return typeError(BAD_HEADER);
  if (showsToken(error, headers)) {
    return signal?.aborted ? signal.reason : new NetworkError(url, "the request failed");
  }
  if (signal?.aborted || error instanceof AuthError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const command = scriptCommand(settings, endpointText(configuration.options, settings));
    return missingPermission(`reach the API at ${url.host}`, { command });
  }
  if (!(error instanceof TypeError)) return error;
  const cause = error.cause instanceof Error ? error.cause.message : "";
  const text = `${error.message} ${cause}`;
  const { words, fix, isKnown } = networkReason(error);
  // The runtime's own error explains misuse, such as a body that was read before.
  if (!isKnown && !/header|url|:\/\//i.test(text)) return error;
  return new NetworkError(url, words, fix, error);
}

/**
 * How much of a body that comes in many pieces is kept, in bytes: a stream may be longer than the
 * memory.
 */
const MAX_COPY_BYTES = 16 * 1024 * 1024;

/** Whether a body can be sent a second time. */
function isRepeatable(body: BodyInit | null): boolean {
  return body === null || typeof body === "string" || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

/**
 * A copy of a `Request`'s body, made while the body is sent, in case it must be sent again.
 *
 * A `Request` does not tell whether its body is a stream. A string or bytes come in one piece, which
 * is in memory anyway: that is always kept. What comes in many pieces may be a stream
 * of any length: it is kept up to a limit, and what is longer cannot be sent again.
 */
class BodyCopy {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  /** The whole body, once it was read to its end; `undefined` if it is too long. Never rejects. */
  readonly whole: Promise<Blob | undefined>;

  /** @throws {TypeError} If the body was read before. */
  constructor(request: Request) {
    this.#reader = request.clone().body?.getReader();
    this.whole = this.#read();
  }

  /** Keeps no more of it. */
  drop(): void {
    // Settles only when the other half of the body ends, too.
    this.#reader?.cancel().catch(() => {});
  }

  /** Never rejects: the one that sends the body gets the error. */
  async #read(): Promise<Blob | undefined> {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    try {
      while (true) {
        const { done, value } = await this.#reader?.read() ?? { done: true, value: undefined };
        if (done) return new Blob(pieces);
        pieces.push(value);
        size += value.byteLength;
        if (size > MAX_COPY_BYTES && pieces.length > 1) break;
      }
    } catch {
      return undefined;
    }
    this.drop();
    return undefined;
  }
}
