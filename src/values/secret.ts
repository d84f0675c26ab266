import { printable } from "./wording.ts";

/**
 * A string that no inspection, serialization or template shows. Tokens and passwords travel in it
 * from where they come in to the one place that sends or stores them.
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

/** How many characters in a row count as showing a secret: as it stands, and with other case or separators. */
const TELLING = 8;
const TELLING_LOOSELY = 16;
/** Shorter encoded or loose forms stand in every text. */
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
  if (forms.some((form) => readings.some((text) => shares(text, form, TELLING)))) return true;
  const loose = [...forms, bytes.toHex()].map(loosely)
    .filter((form) => form.length >= SHORTEST_FORM);
  const looseReadings = readings.map(loosely);
  return loose.some((form) => looseReadings.some((text) => shares(text, form, TELLING_LOOSELY)));
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

/** Letters and digits only, in one case: as spaced, hyphenated or shouted text is read. */
function loosely(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

function shares(text: string, form: string, telling: number): boolean {
  const length = Math.min(telling, form.length);
  if (length === 0) return false;
  const parts = new Set<string>();
  for (let i = 0; i + length <= form.length; i++) parts.add(form.slice(i, i + length));
  for (let i = 0; i + length <= text.length; i++) {
    if (parts.has(text.slice(i, i + length))) return true;
  }
  return false;
}
