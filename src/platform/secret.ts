import { printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";

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
 * Removes line breaks at the beginning and the end of a secret that was entered, because a paste, a
 * file or a variable often adds a line break. Keeps blanks, which may belong to a password.
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

/** Minimum length of a secret to look for. A shorter secret also occurs in harmless text. */
const SHORTEST_SOUGHT = 4;

/** Replaces secrets in a text by `[secret]`, including their forms in JSON, URLs and base64. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  const forms = secrets.map((secret) => secret.reveal())
    .filter((secret) => secret.length >= SHORTEST_SOUGHT)
    .flatMap((secret) => {
      const base64 = new TextEncoder().encode(secret).toBase64().replace(/=+$/, "");
      const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
      const json = JSON.stringify(secret).slice(1, -1);
      return [secret, json, ...formsInUrl(secret), base64, base64url];
    })
    // One secret may contain another, so the longest is replaced first.
    .sort((a, b) => b.length - a.length);
  return forms.reduce((left, form) => left.replaceAll(form, "[secret]"), text);
}

/**
 * How programs write a text in a URL: they differ in punctuation, blanks (`%20` or `+`) and the case
 * of hex digits.
 */
function formsInUrl(text: string): string[] {
  const plain = encodeURIComponent(text.toWellFormed());
  const strict = plain.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  const inForm = new URLSearchParams({ "": text }).toString().slice(1);
  return [plain, strict, inForm].flatMap((form) => {
    const forms = [form.replaceAll("%20", "+"), form.replaceAll("+", "%20")];
    const inCase = (change: (hex: string) => string) =>
      forms.map((each) => each.replace(/%../g, change));
    return [...inCase((hex) => hex.toLowerCase()), ...inCase((hex) => hex.toUpperCase())];
  });
}

/**
 * Makes text from outside safe for a message: without the secrets, in one line without control and
 * direction characters, and shortened.
 */
export function quoted(text: string, secrets: readonly Secret[], maxLength = 160): string {
  const line = withoutSecrets(text, secrets).replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
  return shortened(printable(line).trim(), maxLength);
}
