/**
 * Values: secrets (here), tokens (`tokens.ts`), and numbers and texts as people read them
 * (`wording.ts`). May import nothing of this project.
 *
 * This file holds what is never shown: texts in a {@linkcode Secret}, and foreign text that repeats
 * one ({@linkcode redact}).
 */
import { printable } from "../errors/escape.ts";

/**
 * A string that no inspection, serialization or template shows. It holds tokens and passwords from
 * where they are read to the one place that sends or stores them.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself: only for a request, a `.env` line or the caller who asked for it. */
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

/** What tokens, client ids and pool ids consist of. */
export const VISIBLE_ASCII: RegExp = /^[\x21-\x7e]+$/;

/** A text that repeats this many characters of a secret in a row is withheld. */
const MIN_LEAK_LENGTH = 8;
/** The same, where only letters and digits are compared, and case does not count. */
const MIN_LEAK_LENGTH_NORMALIZED = 16;
/** Every text holds shorter encoded or normalized forms. */
const SHORTEST_FORM = 4;

/**
 * Makes foreign text fit for an error message: one line without control and direction characters,
 * shortened, and withheld as a whole when what is left repeats a part of one of the secrets, as it
 * is or in a form that is easily turned back.
 */
export function redact(text: string, secrets: readonly Secret[], maxLength = 160): string {
  const line = oneLine(text).trim();
  const shown = line.slice(0, maxLength);
  if (secrets.some((secret) => repeats(shown, secret.reveal()))) {
    return "[withheld: it repeats a secret]";
  }
  return line.length > maxLength ? `${shown}…` : line;
}

function oneLine(text: string): string {
  return printable(text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
}

function repeats(shown: string, secret: string): boolean {
  const readings = [shown, percentDecoded(shown)];
  const bytes = new TextEncoder().encode(secret);
  const line = oneLine(secret);
  const encoded = base64Forms(bytes).filter((form) => form.length >= SHORTEST_FORM);
  const forms = [secret, line, [...line].reverse().join(""), ...encoded];
  if (forms.some((form) => readings.some((text) => shares(text, form, MIN_LEAK_LENGTH)))) {
    return true;
  }
  const normalForms = [...forms, bytes.toHex()].map(normalized)
    .filter((form) => form.length >= SHORTEST_FORM);
  const normalReadings = readings.map(normalized);
  return normalForms.some((form) =>
    normalReadings.some((text) => shares(text, form, MIN_LEAK_LENGTH_NORMALIZED))
  );
}

/** Base64 at each of the three offsets, without the characters that depend on what stands beside. */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((offset) => {
    const padded = new Uint8Array(offset + bytes.length);
    padded.set(bytes, offset);
    return padded.toBase64().slice(Math.ceil(offset * 8 / 6), Math.floor(padded.length * 8 / 6));
  });
}

function percentDecoded(text: string): string {
  return text.replace(
    /(%[0-9a-f]{2})+/gi,
    (run) => new TextDecoder().decode(Uint8Array.fromHex(run.replaceAll("%", ""))),
  );
}

/**
 * Letters and digits only, in lower case: finds a secret that was spaced, hyphenated or put in upper
 * case.
 */
function normalized(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Whether a text holds so many characters of a form in a row, or the whole form if it is shorter. */
function shares(text: string, form: string, minLength: number): boolean {
  const length = Math.min(minLength, form.length);
  if (length === 0) return false;
  const parts = new Set<string>();
  for (let i = 0; i + length <= form.length; i++) parts.add(form.slice(i, i + length));
  for (let i = 0; i + length <= text.length; i++) {
    if (parts.has(text.slice(i, i + length))) return true;
  }
  return false;
}
