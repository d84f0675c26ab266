import { nodeModule } from "../platform/environment.ts";

// There are two ways to read a `.env`. Nearly all are plain text, which is read line by line: that also
// tells where each assignment is, which an edit needs. For any other text `parseEnv` of `node:util`, the
// runtime's own parser, decides what it means. It does not read the plain ones, too, because loading it
// makes a start 10 to 13 ms longer.

/** The byte order mark that some editors put before a text. */
export const BOM = "\ufeff";

// No two adjacent quantifiers match the same characters, so that the time stays linear.
const KEY =
  /(?<exported>export (?=\w+[ \t]*=[ \t]*[^\s#]))?(?<key>[A-Za-z_]\w*)[ \t]*=[ \t]*/.source;
const QUOTED = /"(?<double>[^"\\\r\n]*)"|'(?<single>[^'\r\n]*)'/.source;
const BARE = /(?<bare>[^\s"'`#\\](?:[^"'`#\\\r\n]*[^\s"'`#\\])?)/.source;
// Other readers take a comment for part of the value if no blank is before it.
const COMMENT = /(?:(?<=[ \t])(?<comment>#[^"'`\r\n]*)|#[^"'`\r\n]*)/.source;

/**
 * A line that means the same whatever is above and below it: blank, a comment, or an assignment with
 * its value bare or in quotes, and perhaps a comment behind it.
 */
const PLAIN_LINE = new RegExp(
  `[ \\t]*(?:${KEY}(?:(?:${QUOTED}|${BARE})[ \\t]*)?)?${COMMENT}?(?:\\r?\\n|$)`,
  "y",
);

/** An assignment in the text of a `.env`. */
export interface Assignment {
  readonly key: string;
  /** Where its lines begin. */
  readonly start: number;
  /** Where they end, the line break included. */
  readonly end: number;
  readonly exported: boolean;
  /** The comment behind the value, with its `#`; empty: none. */
  readonly comment: string;
}

/** An assignment in a plain text, in which its value is certain. */
export interface PlainAssignment extends Assignment {
  readonly value: string;
}

/**
 * Finds the assignments of a text in which all lines are plain; `undefined` if one is not.
 *
 * @param keys Which ones to find. Default: all.
 */
export function plainAssignments(
  text: string,
  keys?: readonly string[],
): PlainAssignment[] | undefined {
  const found: PlainAssignment[] = [];
  for (let start = text.startsWith(BOM) ? 1 : 0, end = start; start < text.length; start = end) {
    PLAIN_LINE.lastIndex = start;
    const groups = PLAIN_LINE.exec(text)?.groups;
    if (groups === undefined) return undefined;
    end = PLAIN_LINE.lastIndex;
    const { key, double, single, bare, exported, comment = "" } = groups;
    if (key === undefined || (keys !== undefined && !keys.includes(key))) continue;
    found.push({
      key,
      value: double ?? single ?? bare ?? "",
      start,
      end,
      exported: exported !== undefined,
      comment: comment.trimEnd(),
    });
  }
  return found;
}

/** Reads the text of a `.env` as the runtime does; of several lines with one key the last one counts. */
export function parseEnvText(text: string): Map<string, string> {
  const values = new Map<string, string>();
  const plain = plainAssignments(text);
  if (plain !== undefined) {
    for (const { key, value } of plain) values.set(key, value);
    return values;
  }
  for (const [key, value] of Object.entries(nodeModule("node:util").parseEnv(forParser(text)))) {
    if (value !== undefined) values.set(key.replace(/^export\s+/, ""), value);
  }
  return values;
}

/**
 * Keys whose value is not in quotes and ends at a `#`: whoever wrote it may have meant a part of the
 * value.
 */
export interface EndedByHash {
  /** Nothing is before the `#`: most readers take the rest for a comment all the same. */
  readonly cut: readonly string[];
  /** A blank is before it, as before a comment. */
  readonly commented: readonly string[];
}

/** Finds the values that end at a `#`. */
export function endedByHash(text: string, values: ReadonlyMap<string, string>): EndedByHash {
  const lines = text.matchAll(
    /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*((?!["'`])[^#\r\n]*)#(\S?)/gm,
  );
  const cut: string[] = [];
  const commented: string[] = [];
  for (const [, key = "", value = "", next = ""] of lines) {
    // Where the line stands in another value, its key has another one or none.
    if (values.get(key) !== value.trimEnd()) continue;
    const isApart = /\s$/.test(value);
    if (isApart && value.trim() !== "") commented.push(key);
    if (!isApart && next !== "") cut.push(key);
  }
  return { cut, commented };
}

/**
 * Takes out what `parseEnv` misreads: blanks as the only value (it takes the next line for the value,
 * so that a token could be read as a password), blanks before a comment (it takes the comment for an
 * assignment), and a comment without a line break at the end (it adds blanks to the value).
 */
function forParser(text: string): string {
  const whole = text.startsWith(BOM) ? text.slice(1) : text;
  return `${whole}\n`.replace(/(?<![^\n])([^\n=#"'`]+=)[ \t]+(?=\r?\n)/g, "$1")
    .replace(/(?<![^\n])[ \t]+(?=#)/g, "");
}
