import { typeError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * A copy of headers in a cheap form: a plain object, or pairs if a name may occur twice. The runtime
 * checks the values of a `Headers` object once more.
 */
export type PlainHeaders = Record<string, string> | string[][];

/** Replaces the runtime's error, which would quote the value. */
export const BAD_HEADER = "The call has a header whose name or value cannot be sent";

/**
 * Copies the user's headers. The runtime checks whether they can be sent.
 *
 * @throws {TypeError} If one of them is `authorization`.
 */
export function plainHeaders(headers: HeadersInit): PlainHeaders {
  const copy = copyOf(headers);
  const names = Array.isArray(copy) ? copy.map(([name]) => name) : Object.keys(copy);
  if (names.some((name) => name?.toLowerCase() === "authorization")) {
    throw typeError("The authorization header is set for you; leave it out, or use fetch()");
  }
  return copy;
}

/** The same as pairs, to which others can be added. */
export function pairsOf(headers: HeadersInit): string[][] {
  const plain = plainHeaders(headers);
  return Array.isArray(plain) ? plain : Object.entries(plain);
}

/** The user's headers, and a default for one of them. */
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

/** Whether an error, printed with all its properties, shows the token in these headers. */
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

/** The value of the header is built once: a new string would be copied for every call. */
const values = new WeakMap<Tokens, string>();
