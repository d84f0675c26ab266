/**
 * Matches one line, or several lines that a value in quotes joins, as `parseEnv()` of `node:util`
 * reads them. That parser is not used, because loading it takes 10 to 13 ms. The groups have no
 * names, because named ones double the time; `linesIn()` names them.
 */
const LINES =
  /[ \t]*(?:(export[ \t]+)?([^\s=#]+)[ \t]*=[ \t]*(?:(["'`])(.*?)\3|([^#\n]*)))?[^\n]*(?:\n|$)/gs;

/** A line of a `.env`, or several lines that a value in quotes joins. */
export interface Line {
  /** The text with its line break. */
  readonly text: string;
  /** The key and the value that the line sets; `undefined` if it sets none. */
  readonly key?: string | undefined;
  readonly value: string;
  readonly isExported: boolean;
  /** Whether the value begins with a quote that is never closed. */
  readonly isOpen: boolean;
  readonly isMultiline: boolean;
}

/** Splits the text of a `.env` into its lines. */
export function linesIn(text: string): Line[] {
  return [...text.matchAll(LINES)].map(
    ([text, exported, key, quote, quoted = "", bare = ""]) => ({
      text,
      key,
      value: quote === '"' ? quoted.replaceAll("\\n", "\n") : quoted || bare.trim(),
      isExported: exported !== undefined,
      isOpen: /^["'`]/.test(bare),
      isMultiline: quoted.includes("\n"),
    }),
  );
}

/** Reads the text of a `.env`. If a key occurs on several lines, the last one wins. */
export function parseEnvText(text: string): Map<string, string> {
  return new Map(
    linesIn(text).flatMap(({ key, value }) => key === undefined ? [] : [[key, value]]),
  );
}
