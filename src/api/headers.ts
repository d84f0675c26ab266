import { typeError } from "../values/errors.ts";
import type { Tokens } from "../values/tokens.ts";

/**
 * Names and values, the form that costs least: the runtime checks each value again that comes in a
 * `Headers`.
 */
export type HeaderPairs = readonly string[][];

/** What is told in place of the runtime's error, which would quote the value. */
export const BAD_HEADER = "authFetch() was given a header whose name or value cannot be sent";

/**
 * The headers that a user gave. Whether they can be sent is left to the runtime.
 *
 * @throws {TypeError} If one of them is `authorization`.
 */
export function pairsOf(headers: HeadersInit): HeaderPairs {
  const pairs = copyOf(headers);
  if (pairs.some(([name]) => name?.toLowerCase() === "authorization")) {
    throw typeError(
      "authFetch() sets the authorization header itself; leave it out, or use fetch()",
    );
  }
  return pairs;
}

function copyOf(headers: HeadersInit): HeaderPairs {
  try {
    if (headers instanceof Headers) {
      // Its iterator takes four times as long.
      const pairs: string[][] = [];
      headers.forEach((value, name) => pairs.push([name, value]));
      return pairs;
    }
    const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
    return pairs.map((pair) => [...pair].map(String));
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
export function withToken(headers: HeaderPairs | undefined, tokens: Tokens): HeaderPairs {
  let value = values.get(tokens);
  if (value === undefined) values.set(tokens, value = `bearer ${tokens.accessToken.reveal()}`);
  return headers === undefined
    ? [["authorization", value]]
    : [...headers, ["authorization", value]];
}

/** The header's value is put together once: a string made anew would be copied for every call. */
const values = new WeakMap<Tokens, string>();
