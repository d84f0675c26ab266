/** The headers of a call: those of the user, and the one with the token. */
import { typeError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * Headers as a plain object or as pairs. They are faster to send than a `Headers` object, whose
 * values the runtime checks a second time.
 */
export type PlainHeaders = Record<string, string> | [name: string, value: string][];

/**
 * Returns a plain copy of the user's headers. The headers of a plain object are not checked here,
 * because the runtime checks them when it sends them.
 *
 * @throws {TypeError} If the headers cannot be sent, or if one of them is `authorization`.
 */
export function plainHeaders(given: HeadersInit): PlainHeaders {
  if (Object.getPrototypeOf(given) === Object.prototype) {
    refuseAuthorization(Object.keys(given).some((name) => name.toLowerCase() === "authorization"));
    return { ...given as Record<string, string> };
  }
  const headers = given instanceof Headers ? given : copyOf(given);
  refuseAuthorization(headers.has("authorization"));
  const pairs: [string, string][] = [];
  // A `for … of` loop would take four times as long as `forEach()`.
  headers.forEach((value, name) => pairs.push([name, value]));
  return pairs;
}

/**
 * Returns a copy of the user's headers.
 *
 * @throws {TypeError} If the headers cannot be sent, or if one of them is `authorization`.
 */
export function checkedHeaders(given: HeadersInit | undefined): Headers {
  const headers = copyOf(given);
  refuseAuthorization(headers.has("authorization"));
  return headers;
}

function refuseAuthorization(isSet: boolean): void {
  if (!isSet) return;
  throw typeError("The authorization header is set for you; leave it out, or use fetch()");
}

function copyOf(given: HeadersInit | undefined): Headers {
  try {
    return new Headers(given);
  } catch {
    // This error replaces the runtime's own error, which would quote the value.
    throw typeError("The call has a header whose name or value cannot be sent");
  }
}

/**
 * Returns the headers to send: the user's headers, and the `authorization` header with the token.
 */
export function withToken(headers: PlainHeaders | undefined, tokens: Tokens): HeadersInit {
  let authorization = values.get(tokens);
  if (authorization === undefined) {
    values.set(tokens, authorization = `bearer ${tokens.accessToken.reveal()}`);
  }
  return Array.isArray(headers)
    ? [...headers, ["authorization", authorization]]
    : { ...headers, authorization };
}

/**
 * The value of the `authorization` header for each `Tokens` object. If each call built the value
 * again, the runtime would have to copy a new string for each call.
 */
const values = new WeakMap<Tokens, string>();

/**
 * Whether printing an error with all its properties would show the token in these headers.
 *
 * @throws {TypeError} If the headers cannot be sent.
 */
export function showsToken(error: unknown, headers: HeadersInit | undefined): boolean {
  const token = copyOf(headers).get("authorization")?.replace(/^bearer /, "");
  if (token === undefined) return false;
  const shown = Deno.inspect(error, { depth: 10, iterableLimit: 1_000, strAbbreviateSize: 1e6 });
  return shown.includes(token);
}
