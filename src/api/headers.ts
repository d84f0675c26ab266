import { typeError } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * A copy of headers as a plain object, or as pairs if a name may occur twice. Both are faster than
 * a `Headers` object, whose values the runtime checks a second time.
 */
export type PlainHeaders = Record<string, string> | string[][];

/** Replaces the message of the runtime's error, which quotes the value. */
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

/** Copies the user's headers as pairs, to which others can be added. */
export function pairsOf(headers: HeadersInit): string[][] {
  const plain = plainHeaders(headers);
  return Array.isArray(plain) ? plain : Object.entries(plain);
}

/** Copies the user's headers and adds a default for one of them. */
export function withDefault(headers: HeadersInit, name: string, value: string): string[][] {
  const pairs = pairsOf(headers);
  const isSet = pairs.some(([each = ""]) => each.toLowerCase() === name);
  return isSet ? pairs : [...pairs, [name, value]];
}

function copyOf(headers: HeadersInit): PlainHeaders {
  try {
    if (headers instanceof Headers) {
      // The iterator of `Headers` takes four times as long.
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

/** Returns the headers to send: those of the user, and the token. */
export function withToken(headers: PlainHeaders | undefined, tokens: Tokens): PlainHeaders {
  let value = values.get(tokens);
  if (value === undefined) values.set(tokens, value = `bearer ${tokens.accessToken.reveal()}`);
  if (headers === undefined) return { authorization: value };
  return Array.isArray(headers)
    ? [...headers, ["authorization", value]]
    : { ...headers, authorization: value };
}

/**
 * The header's value for each record of tokens, built once because a new string would be copied for
 * every call.
 */
const values = new WeakMap<Tokens, string>();
