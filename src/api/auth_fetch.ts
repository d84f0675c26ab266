import { addressOf, type ApiAccess, apiAccessOf } from "./api_access.ts";
import { directClient, networkReason } from "../runtime/transport.ts";
import { AuthError, ConfigError } from "../values/errors.ts";
import type { Settings } from "../settings/settings.ts";
import type { World } from "../runtime/world.ts";
import type { Tokens } from "../values/tokens.ts";

/** A call to the API, checked and ready to be sent, once or twice. */
interface Call {
  /** Where it goes: an address on an allowed origin. */
  readonly address: string;
  readonly init: RequestInit | undefined;
  /** The caller's own headers, checked; `undefined`: none. */
  readonly headers: Headers | undefined;
  /** A copy with an unread body, to send again after a 401. */
  readonly spare: Request | undefined;
  readonly input: string | Request;
  readonly repeatable: boolean;
}

const MAX_REDIRECTS = 20;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** What a call needs of the session that it is made with. */
export interface ApiCaller {
  readonly world: World;
  readonly settings: Settings;
  /** Reads the settings again. If they name another account, the calls that follow are that one's. */
  reread(): void;
  fresh(): Tokens | undefined;
  current(): Promise<Tokens>;
  replaceRejected(rejected: Tokens): Promise<Tokens | undefined>;
  replacementHelped(): void;
}

/** Sends a call with a current token; refreshes and sends again, once, when the API answers 401. */
export async function fetchWithToken(
  context: ApiCaller,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
): Promise<Response> {
  const call = prepare(context, input, init);
  const tokens = context.fresh() ?? await context.current();
  const response = await send(context, call, tokens);
  if (response.status !== 401 || !call.repeatable) return response;
  // A 401 from where a redirect led to says nothing about the token, which did not go there.
  if (response.redirected && originOf(response.url) !== originOf(call.address)) return response;
  const renewed = await context.replaceRejected(tokens);
  if (renewed === undefined) return response;
  await response.body?.cancel();
  const again = await send(context, call, renewed, call.spare);
  if (again.status !== 401) context.replacementHelped();
  return again;
}

function prepare(
  context: ApiCaller,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
): Call {
  if (typeof input !== "string" && !(input instanceof URL) && !(input instanceof Request)) {
    throw new TypeError(`authFetch() takes a string, a URL or a Request, not ${typeof input}`);
  }
  if (init !== undefined && typeof init !== "object") {
    throw new TypeError(`authFetch() takes an object of options, not ${typeof init}`);
  }
  const address = resolveAddress(context, input);
  const request = input instanceof Request ? input : undefined;
  const given = init?.headers ?? request?.headers;
  const headers = given === undefined ? undefined : headersOf(given);
  if (headers?.has("authorization")) {
    throw new TypeError(
      "authFetch() sets the authorization header itself; leave it out, or use fetch()",
    );
  }
  const ownBody = init?.body ?? undefined;
  const borrowed = request !== undefined && ownBody === undefined && request.body !== null;
  return {
    address,
    init: init ?? undefined,
    headers,
    spare: borrowed && !request.bodyUsed ? request.clone() : undefined,
    input: request ?? address,
    repeatable: borrowed ? !request.bodyUsed : isRepeatable(ownBody),
  };
}

/** The `.env` may have been completed since the settings were read, so a refusal is checked twice. */
function resolveAddress(context: ApiCaller, input: string | URL | Request): string {
  try {
    return addressOf(input, accessOf(context.settings));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    context.reread();
    return addressOf(input, accessOf(context.settings));
  }
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

function headersOf(headers: HeadersInit): Headers {
  try {
    return new Headers(headers);
  } catch {
    // The runtime's error would quote the value.
    throw new TypeError("authFetch() was given a header whose name or value cannot be sent");
  }
}

/** The headers to send. Plain pairs, because the runtime checks each value again that comes in a `Headers`. */
function withToken(headers: Headers | undefined, tokens: Tokens): [string, string][] {
  let value = values.get(tokens);
  if (value === undefined) values.set(tokens, value = `bearer ${tokens.accessToken.reveal()}`);
  return headers === undefined
    ? [["authorization", value]]
    : [...headers, ["authorization", value]];
}

/** The header's value is put together once: a string made anew would be copied for every call. */
const values = new WeakMap<Tokens, string>();

/** Whether a body can be sent a second time. */
function isRepeatable(body: BodyInit | undefined): boolean {
  return body === undefined || typeof body === "string" || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

/** Not `async`: each layer of promises is felt in every call. */
function send(
  context: ApiCaller,
  call: Call,
  tokens: Tokens,
  spare?: Request,
): Promise<Response> {
  const request = spare ?? call.input;
  const init = { ...call.init, headers: withToken(call.headers, tokens) };
  const method = init.method?.toUpperCase() ??
    (request instanceof Request ? request.method : "GET");
  const redirect = init.redirect ?? (request instanceof Request ? request.redirect : "follow");
  // On GET and HEAD the runtime drops the header where a redirect leaves the origin.
  return redirect !== "follow" || method === "GET" || method === "HEAD"
    ? attempt(context, request, init, call.address)
    : sendWithin(context, call, request, init, method);
}

/** Sends a request with a body, which must not leave its origin. */
async function sendWithin(
  context: ApiCaller,
  call: Call,
  request: string | Request,
  init: RequestInit & { headers: [string, string][] },
  method: string,
): Promise<Response> {
  const spare = call.spare?.clone();
  const response = await attempt(context, request, { ...init, redirect: "manual" }, call.address);
  if (!REDIRECTS.has(response.status) || !response.headers.has("location")) return response;
  return await followWithin(context, call, init, response, method, spare);
}

/** Follows its redirects. */
async function followWithin(
  context: ApiCaller,
  call: Call,
  sent: RequestInit & { headers: [string, string][] },
  first: Response,
  firstMethod: string,
  spare: Request | undefined,
): Promise<Response> {
  let response = first;
  let method = firstMethod;
  const { origin } = new URL(call.address);
  let url = new URL(call.address);
  const headers = new Headers(sent.headers);
  let body: BodyInit | null | undefined = spare === undefined
    ? sent.body
    : await spare.arrayBuffer();
  for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
    const { status } = response;
    const location = response.headers.get("location");
    if (!REDIRECTS.has(status) || location === null) return response;
    await response.body?.cancel();
    const target = URL.parse(location, url);
    if (target?.origin !== origin || target.username || target.password) {
      throw new ConfigError(
        "UNTRUSTED_ORIGIN",
        `Cannot follow the redirect of ${method} ${url.origin}${url.pathname} to ${
          target?.origin ?? "an address that cannot be parsed"
        }: the request was sent, its redirect to another origin is not followed; call that address ` +
          "itself, with fetch() or after adding it to API_ALLOWED_ORIGINS",
      );
    }
    if (status === 303 || (status < 303 && method === "POST")) {
      method = "GET";
      body = undefined;
      headers.delete("content-type");
    } else if (!isRepeatable(body ?? undefined)) {
      throw new TypeError(
        `Cannot follow the redirect of ${method} ${url.origin}${url.pathname}: its body is a stream ` +
          "and was sent already; send a string, bytes or a Blob",
      );
    }
    url = target;
    const { body: _, ...init } = sent;
    response = await attempt(
      context,
      url.href,
      { ...init, headers, method, redirect: "manual", ...(body != null && { body }) },
      url.href,
    );
  }
  await response.body?.cancel();
  throw new TypeError(
    `Cannot reach ${origin}${new URL(call.address).pathname}: too many redirects`,
  );
}

async function attempt(
  context: ApiCaller,
  request: string | Request,
  init: RequestInit,
  address: string,
): Promise<Response> {
  // The variables are looked at when the settings are read: asking for them in every call would be felt.
  const direct = context.world.fetch === undefined && accessOf(context.settings).proxied;
  const client = direct ? directClient(new URL(address)) : undefined;
  try {
    return await (context.world.fetch ?? fetch)(request, client ? { client, ...init } : init);
  } catch (error) {
    throw explained(error, request, init, new URL(address));
  } finally {
    client?.close();
  }
}

/** The runtime's errors quote headers and queries; what they mean is kept. */
function explained(error: unknown, request: unknown, init: RequestInit, url: URL): unknown {
  const signal = init.signal ?? (request instanceof Request ? request.signal : undefined);
  if (signal?.aborted || error instanceof AuthError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    return new ConfigError(
      "PERMISSION",
      `Cannot reach the API: the permission is missing; run with --allow-net=${url.host}`,
    );
  }
  if (!(error instanceof TypeError)) return error;
  const cause = error.cause instanceof Error ? error.cause.message : "";
  const told = `${error.message} ${cause}`;
  const known = networkReason(told);
  // Misuse, such as a body that was read before, is told in the runtime's own words.
  if (known.words === "the request failed" && !/header|url|:\/\//i.test(told)) {
    return error;
  }
  return new TypeError(`Cannot reach ${url.origin}${url.pathname}: ${known.words}`);
}
