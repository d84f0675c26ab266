/** Checks a call to the API before it is sent. */
import type { ApiAccount } from "./account.ts";
import { accessOf, addressOf } from "./api_access.ts";
import { type PlainHeaders, plainHeaders } from "./headers.ts";
import { readUpTo } from "../platform/body.ts";
import type { Tokens } from "../provider/tokens.ts";
import { ConfigError, typeError } from "../errors/errors.ts";

/** A call to the API that has been checked and can be sent. */
export interface PreparedCall {
  readonly account: ApiAccount;
  /** An address on an allowed origin. */
  readonly address: string;
  readonly input: string | Request;
  readonly init: RequestInit | undefined;
  /** The user's headers; `undefined` if there are none. */
  readonly headers: PlainHeaders | undefined;
  /** How to treat a redirect, according to the user. */
  readonly redirect: RequestRedirect;
  /** Whether the body can be sent a second time. */
  readonly isRepeatable: boolean;
  readonly onSend: OnSend | undefined;
}

/**
 * Called before each request of a call. Collects the tokens sent, so that a message that quotes the
 * response can withhold these tokens.
 */
export type OnSend = (address: string, tokens: Tokens) => void;

/** Checks a call, and collects what is needed to send it. */
export function prepare(
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
    redirect: options?.redirect ?? request?.redirect ?? "follow",
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
    "A body must be text or bytes, not an object; pass body: JSON.stringify(…), and the header content-type: application/json",
  );
}

/** The method of a request. As with `fetch`, a method in `init` replaces that of a `Request`. */
export function methodOf(input: string | URL | Request, init: RequestInit): string {
  return init.method?.toUpperCase() ?? (input instanceof Request ? input.method : "GET");
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

/**
 * Maximum length of a `Request` body that is read into memory. A longer body is sent as a stream.
 */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Whether the call sends the body of a `Request`: `init` has no body that replaces it. */
export function hasOwnBody(call: PreparedCall): call is PreparedCall & { readonly input: Request } {
  const { input, init } = call;
  return input instanceof Request && input.body !== null && !input.bodyUsed &&
    (init?.body ?? null) === null;
}

/**
 * Reads the body of a `Request` into memory, so that the body can be sent with its length, and sent
 * again. A `Request` does not reveal whether its body is a stream, so every body is read.
 */
export async function withBodyRead(call: PreparedCall, request: Request): Promise<PreparedCall> {
  const { bytes, isWhole } = await readUpTo(request.clone().body, MAX_BODY_BYTES);
  if (!isWhole) return { ...call, isRepeatable: false };
  // After `fetch`, a caller cannot read the body of its `Request`. This call sends a copy, so it
  // cancels the original for the same effect.
  request.body?.cancel().catch(() => {});
  return { ...call, init: { ...call.init, body: bytes } };
}

function isRepeatable(body: BodyInit | null): boolean {
  return body === null || typeof body === "string" || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}
