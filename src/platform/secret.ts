import { printable } from "../errors/escape.ts";

/**
 * A string whose text is never shown by inspection, JSON or a template. Tokens and passwords are
 * wrapped as soon as they are read, and unwrapped only to be sent or stored.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the text. Call this only for a request, for a line of a `.env`, or for a caller of
   * `accessToken()`.
   */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [Symbol.for("Deno.customInspect")](): string {
    return "[secret]";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[secret]";
  }
}

/**
 * Removes line breaks at the beginning and the end of a secret that a person or a program entered: a
 * paste, a file or a variable often adds one. Blanks may belong to a password and are kept.
 */
export function withoutOuterBreaks(text: string): string {
  // The lookbehind keeps the running time linear.
  return text.replace(/^[\r\n\u2028\u2029]+|(?<![\r\n\u2028\u2029])[\r\n\u2028\u2029]+$/g, "");
}

/**
 * Says what is strange about a value that was refused, without quoting the value; `undefined` if
 * nothing is. Copying often adds these characters, but they may also belong to the value.
 */
export function oddityOf(text: string): string | undefined {
  if (/^(["'`“‘«]).*["'`”’»]$/s.test(text)) return "begins and ends with quotes";
  // `printable()` removes invisible characters; the pattern matches blanks of other widths.
  const isOdd = printable(text) !== text || /[^\S ]|^ | $/.test(text);
  return isOdd ? "contains an invisible character, or a blank at its beginning or end" : undefined;
}

/** The characters of tokens, client ids and pool ids. */
export const VISIBLE_ASCII: RegExp = /^[\x21-\x7e]+$/;

/**
 * Text is withheld if it repeats this many consecutive characters of a secret. A shorter secret
 * must be repeated as a whole.
 */
const MIN_LEAK_LENGTH = 8;

/**
 * Minimum length of a secret to search for. Most shorter secrets also occur in harmless text, so
 * nearly every message would be withheld.
 */
const SHORTEST_SOUGHT = 4;

/**
 * Words that are common in messages and parameter names. A message with one of these words is not
 * withheld, although many passwords contain one: the word alone does not reveal the password.
 */
const COMMON_WORDS =
  /(?<![^\s"'_.,:])(administrator|attempts|birthdate|characters|disabled|exceeded|incorrect|lowercase|password|preferred|previously|required|requiredAttributes|software|temporary|uppercase|userAttributes|username)(?![^\s"'_.,:])/gi;

/**
 * Makes text from outside safe for an error message: shortens it to one line without control and
 * direction characters. Withholds the whole text if it repeats a secret or a part of a secret,
 * verbatim, percent-encoded or in base64. Common words are allowed.
 */
export function redact(text: string, secrets: readonly Secret[], maxLength = 160): string {
  const line = oneLine(text).trim();
  const shown = line.slice(0, maxLength);
  if (leakCheck(secrets)(shown)) return WITHHELD;
  return line.length > maxLength ? `${shown}…` : line;
}

/**
 * Returns a function that replaces each secret in a text and keeps the rest. If the rest still
 * repeats a part of a secret or an encoded secret, the function withholds the whole text.
 */
export function secretCutter(secrets: readonly Secret[]): (text: string) => string {
  const leaks = leakCheck(secrets);
  // One secret may contain another, so the longest is replaced first.
  const whole = soughtIn(secrets).toSorted((a, b) => b.length - a.length);
  return (text) => {
    const rest = whole.reduce((left, secret) => left.replaceAll(secret, "[secret]"), text);
    return leaks(rest) ? WITHHELD : rest;
  };
}

const WITHHELD = "[withheld: it repeats a secret]";

function oneLine(text: string): string {
  return printable(text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
}

function soughtIn(secrets: readonly Secret[]): string[] {
  return secrets.map((secret) => secret.reveal()).filter((it) => it.length >= SHORTEST_SOUGHT);
}

/** Returns a check whether a text repeats a secret. */
function leakCheck(secrets: readonly Secret[]): (text: string) => boolean {
  const forms = soughtIn(secrets).flatMap(formsOf)
    .map((form) => ({ form, parts: partsOf(form) }));
  return (text) => {
    const readings = [text, percentDecoded(text)];
    return forms.some(({ form, parts }) =>
      readings.some((reading) =>
        reading.includes(form) || shares(reading.replace(COMMON_WORDS, " "), parts)
      )
    );
  };
}

function formsOf(secret: string): string[] {
  const base64 = new TextEncoder().encode(secret).toBase64().replace(/=+$/, "");
  return [...new Set([secret, oneLine(secret), base64])]
    .filter((form) => form.length >= SHORTEST_SOUGHT);
}

function percentDecoded(text: string): string {
  return text.replace(
    /(%[0-9a-f]{2})+/gi,
    (run) => new TextDecoder().decode(Uint8Array.fromHex(run.replaceAll("%", ""))),
  );
}

/** Returns the parts of a form that a text must not repeat. All parts have the same length. */
function partsOf(form: string): ReadonlySet<string> {
  const length = Math.min(MIN_LEAK_LENGTH, form.length);
  const parts = new Set<string>();
  for (let i = 0; i + length <= form.length; i++) parts.add(form.slice(i, i + length));
  return parts;
}

function shares(text: string, parts: ReadonlySet<string>): boolean {
  const [{ length } = ""] = parts;
  for (let i = 0; i + length <= text.length; i++) {
    if (parts.has(text.slice(i, i + length))) return true;
  }
  return false;
}
