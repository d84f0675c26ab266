// Nearly all `.env` files consist of plain lines, which this parser reads one by one. Any other text
// is left to `parseEnv` of `node:util`, the runtime's parser. Loading the runtime's parser takes 10 to 13
// ms, so plain lines do not use it.

/** The byte order mark that some editors put before a text. */
export const BOM = "\ufeff";

// No two adjacent quantifiers match the same characters, so that the running time stays linear. The
// groups have no names, because named ones double the time; `scanEnvText()` names them.
const KEY = /(export (?=\w+[ \t]*=[ \t]*[^\s#]))?([A-Za-z_]\w*)[ \t]*=[ \t]*/.source;
const QUOTED = /"([^"\\\r\n]*)"|'([^'\r\n]*)'/.source;
const BARE = /([^\s"'`#\\](?:[^"'`#\\\r\n]*[^\s"'`#\\])?)/.source;
const COMMENT = /(?:#[^"'`\r\n]*)/.source;

/**
 * Matches a line whose meaning does not depend on the lines around it: a blank line, a comment, or
 * an assignment of a bare or quoted value, optionally followed by a comment.
 */
const PLAIN_LINE = new RegExp(
  `[ \\t]*(?:${KEY}(?:(?:${QUOTED}|${BARE})[ \\t]*)?)?${COMMENT}?(?:\\r?\\n|$)`,
  "y",
);

/** An assignment in the text of a `.env`. */
export interface Assignment {
  readonly key: string;
  /** `undefined` if only the runtime's parser can determine the value. */
  readonly value: string | undefined;
  /** Offset of the first line. */
  readonly start: number;
  /** Offset after the last line break. */
  readonly end: number;
  readonly exported: boolean;
  readonly isMultiline?: boolean;
}

/** The assignments in a `.env`. */
interface Scan {
  readonly assignments: readonly Assignment[];
  /** Whether all lines are plain, so that all values are certain. */
  readonly isPlain: boolean;
  /** Whether a value begins with a quote that is never closed. */
  readonly isOpen: boolean;
}

/** Finds the assignments in the text of a `.env`. */
export function scanEnvText(text: string): Scan {
  const assignments: Assignment[] = [];
  let isPlain = true;
  let isOpen = false;
  for (let start = text.startsWith(BOM) ? 1 : 0, end = start; start < text.length; start = end) {
    PLAIN_LINE.lastIndex = start;
    const match = PLAIN_LINE.exec(text);
    if (match === null) {
      const other = otherLine(text, start);
      isPlain = false;
      isOpen ||= other.isOpen;
      end = other.end;
      if (other.assignment) assignments.push(other.assignment);
      continue;
    }
    end = PLAIN_LINE.lastIndex;
    const [, exported, key, double, single, bare] = match;
    if (key === undefined) continue;
    assignments.push({
      key,
      value: double ?? single ?? bare ?? "",
      start,
      end,
      exported: exported !== undefined,
    });
  }
  return { assignments, isPlain, isOpen };
}

/** Finds the text that `parseEnv` treats as one line. A value in quotes can span several lines. */
function otherLine(
  text: string,
  start: number,
): { end: number; isOpen: boolean; assignment?: Assignment } {
  const line = text.slice(start, endOfLine(text, start));
  const sign = line.indexOf("=");
  const name = line.slice(0, sign).trim();
  if (sign < 0 || name === "" || name.includes("#")) {
    return { end: start + line.length + 1, isOpen: false };
  }
  const key = name.replace(/^export[ \t]+/, "");
  const value = start + sign + 1 + line.slice(sign + 1).search(/[^ \t]|$/);
  const quote = text.charAt(value);
  const isQuoted = quote === '"' || quote === "'" || quote === "`";
  const closing = isQuoted ? text.indexOf(quote, value + 1) : -1;
  const last = closing < 0 ? start + line.length : endOfLine(text, closing);
  return {
    end: Math.min(last + 1, text.length),
    isOpen: isQuoted && closing < 0,
    assignment: {
      key,
      value: undefined,
      start,
      end: Math.min(last + 1, text.length),
      exported: key !== name,
      isMultiline: last > start + line.length,
    },
  };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/**
 * Reads the text of a `.env` as the runtime does. If a key occurs on several lines, the last one
 * wins.
 */
export function parseEnvText(text: string): Map<string, string> {
  const { assignments, isPlain } = scanEnvText(text);
  if (isPlain) return new Map(assignments.map(({ key, value = "" }) => [key, value]));
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(nodeParser()(forParser(text)))) {
    if (value !== undefined) values.set(key.replace(/^export\s+/, ""), value);
  }
  return values;
}

/**
 * Rewrites text that `parseEnv` misreads. If a value consists of blanks, `parseEnv` uses the next
 * line as the value, so that a token could become the password. It also reads some indented
 * comments as assignments.
 */
function forParser(text: string): string {
  const whole = text.startsWith(BOM) ? text.slice(1) : text;
  return whole.replace(/(?<![^\n])([^\n=#"'`]+=)[ \t]+(?=\r?\n|$)/g, "$1")
    .replace(/(?<![^\n])[ \t]+(?=#)/g, "");
}

/**
 * Loads the parser synchronously and on demand: loading the first Node module delays the start by 6
 * to 13 ms.
 */
function nodeParser(): typeof import("node:util").parseEnv {
  const { process } = globalThis as unknown as {
    process: { getBuiltinModule(name: string): typeof import("node:util") };
  };
  return process.getBuiltinModule("node:util").parseEnv;
}
