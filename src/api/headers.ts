import { typeError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * Returns a copy of the user's headers.
 *
 * @throws {TypeError} If the headers cannot be sent, or if one of them is `authorization`.
 */
export function checkedHeaders(given: HeadersInit | undefined): Headers {
  let headers: Headers;
  try {
    headers = new Headers(given);
  } catch {
    // This error replaces the runtime's own error, which would quote the value.
    throw typeError("The call has a header whose name or value cannot be sent");
  }
  if (headers.has("authorization")) {
    throw typeError("The authorization header is set for you; leave it out, or use fetch()");
  }
  return headers;
}

/** Returns the headers to send: those of the user, and the token, which replaces an earlier one. */
export function withToken(headers: Headers | undefined, tokens: Tokens): HeadersInit {
  let authorization = values.get(tokens);
  if (authorization === undefined) {
    values.set(tokens, authorization = `bearer ${tokens.accessToken.reveal()}`);
  }
  // A plain object is faster than a `Headers` object.
  if (headers === undefined) return { authorization };
  headers.set("authorization", authorization);
  return headers;
}

/**
 * The value of the header for each `Tokens` object. It is built once, because the runtime would
 * copy a new string for every call.
 */
const values = new WeakMap<Tokens, string>();

/** Whether printing an error with all its properties would show the token in these headers. */
export function showsToken(error: unknown, headers: HeadersInit | undefined): boolean {
  const token = new Headers(headers).get("authorization")?.replace(/^bearer /, "");
  if (token === undefined) return false;
  const shown = Deno.inspect(error, { depth: 10, iterableLimit: 1_000, strAbbreviateSize: 1e6 });
  return shown.includes(token);
}
