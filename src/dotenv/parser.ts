import { nodeModule } from "../runtime/environment.ts";

/** What some editors put before a text. */
export const BOM = "\ufeff";

// No two runs of blanks meet in these, so that a line with thousands of them is passed in one go.
const KEY =
  /(?<exported>export (?=\w+[ \t]*=[ \t]*[^\s#]))?(?<key>[A-Za-z_]\w*)[ \t]*=[ \t]*/.source;
const QUOTED = /"(?<double>[^"\\\r\n]*)"|'(?<single>[^'\r\n]*)'/.source;
const BARE = /(?<bare>[^\s"'`#\\](?:[^"'`#\\\r\n]*[^\s"'`#\\])?)/.source;
// Without a blank before it others take it for a part of the value.
const COMMENT = /(?:(?<=[ \t])(?<comment>#[^"'`\r\n]*)|#[^"'`\r\n]*)/.source;

/**
 * A line that the runtime's parser reads alike whatever stands above and below it: blank, a comment,
 * or an assignment with its value bare or in quotes, and perhaps a comment behind it.
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

/** An assignment whose value is certain. */
export interface PlainAssignment extends Assignment {
  readonly value: string;
}

/**
 * Finds the assignments of a text that is plain from beginning to end; `undefined`: it is not.
 *
 * @param keys Those that are looked for. Default: all.
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

/** Reads the text of a `.env` as the runtime's own parser does. */
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
 * The parser takes the line behind an empty value with trailing blanks for that value, so that a
 * token could be read as a password, an indented comment for an assignment, and a comment behind the
 * last value, where no line break follows, for blanks of the value: none of that reaches it.
 */
function forParser(text: string): string {
  const whole = text.startsWith(BOM) ? text.slice(1) : text;
  return `${whole}\n`.replace(/(?<![^\n])([^\n=#"'`]+=)[ \t]+(?=\r?\n)/g, "$1")
    .replace(/(?<![^\n])[ \t]+(?=#)/g, "");
}
