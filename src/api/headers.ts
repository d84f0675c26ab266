import { typeError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * A copy of headers in a form that costs little: a plain object, or pairs where a name may come twice.
 * The runtime checks each value again that comes in a `Headers`.
 */
export type PlainHeaders = Record<string, string> | string[][];

/** Replaces the runtime's error, which would quote the value. */
export const BAD_HEADER = "authFetch() was given a header whose name or value cannot be sent";

/**
 * Copies the headers that a user gave. Whether they can be sent is left to the runtime.
 *
 * @throws {TypeError} If one of them is `authorization`.
 */
export function plainHeaders(headers: HeadersInit): PlainHeaders {
  const copy = copyOf(headers);
  const names = Array.isArray(copy) ? copy.map(([name]) => name) : Object.keys(copy);
  if (names.some((name) => name?.toLowerCase() === "authorization")) {
    throw typeError(
      "authFetch() sets the authorization header itself; leave it out, or use fetch()",
    );
  }
  return copy;
}

/** The same as pairs, so that others can be added. */
export function pairsOf(headers: HeadersInit): string[][] {
  const plain = plainHeaders(headers);
  return Array.isArray(plain) ? plain : Object.entries(plain);
}

/** The headers that a user gave, and one more that the user may have set otherwise. */
export function withDefault(headers: HeadersInit, name: string, value: string): string[][] {
  const pairs = pairsOf(headers);
  const isSet = pairs.some(([each = ""]) => each.toLowerCase() === name);
  return isSet ? pairs : [...pairs, [name, value]];
}

function copyOf(headers: HeadersInit): PlainHeaders {
  try {
    if (headers instanceof Headers) {
      // Its iterator takes four times as long.
      const pairs: string[][] = [];
      headers.forEach((value, name) => pairs.push([name, value]));
      return pairs;
    }
    if (!(Symbol.iterator in headers)) return { ...headers };
    return [...headers].map((pair) => [...pair].map(String));
  } catch {
    throw typeError(BAD_HEADER);
  }
}

/** Whether the runtime can send the headers. */
export function canBeSent(headers: HeadersInit | undefined): boolean {
  try {
    new Headers(headers);
    return true;
  } catch {
    return false;
  }
}

/** Whether an error, printed with all that hangs on it, shows the token in these headers. */
export function showsToken(error: unknown, headers: HeadersInit | undefined): boolean {
  const token = new Headers(headers).get("authorization")?.replace(/^bearer /, "");
  if (token === undefined) return false;
  const shown = Deno.inspect(error, { depth: 10, iterableLimit: 1_000, strAbbreviateSize: 1e6 });
  return shown.includes(token);
}

/** The headers to send. */
export function withToken(headers: PlainHeaders | undefined, tokens: Tokens): PlainHeaders {
  let value = values.get(tokens);
  if (value === undefined) values.set(tokens, value = `bearer ${tokens.accessToken.reveal()}`);
  if (headers === undefined) return { authorization: value };
  return Array.isArray(headers)
    ? [...headers, ["authorization", value]]
    : { ...headers, authorization: value };
}

/** The header's value is put together once: a string made anew would be copied for every call. */
const values = new WeakMap<Tokens, string>();
