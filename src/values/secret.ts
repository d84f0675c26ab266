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

/** How many characters of a secret in a row count as showing it. */
const TELLING = 8;

/**
 * A foreign text made fit for an error message: one line, shortened, and withheld as a whole when it
 * repeats a part of one of the secrets, plain or base64-encoded.
 */
export function quotable(text: string, secrets: readonly Secret[], maxLength = 160): string {
  // deno-lint-ignore no-control-regex -- control characters are what has to go
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim();
  if (secrets.some((secret) => repeats(text, secret.reveal()) || repeats(line, secret.reveal()))) {
    return "[withheld: it repeats a secret]";
  }
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}

function repeats(text: string, secret: string): boolean {
  if (secret === "" || text === "") return false;
  const encoded = new TextEncoder().encode(secret).toBase64();
  return sharesPart(text, secret) || sharesPart(text, encoded);
}

function sharesPart(text: string, secret: string): boolean {
  const length = Math.min(TELLING, secret.length);
  const parts = new Set<string>();
  for (let i = 0; i + length <= secret.length; i++) parts.add(secret.slice(i, i + length));
  for (let i = 0; i + length <= text.length; i++) {
    if (parts.has(text.slice(i, i + length))) return true;
  }
  return false;
}
