// Nearly all `.env` files consist of plain lines, which are read here one by one. What any other text
// means is decided by `parseEnv` of `node:util`, the runtime's own parser. It does not read the plain
// ones, too, because loading it makes a start 10 to 13 ms longer.

/** The byte order mark that some editors put before a text. */
export const BOM = "\ufeff";

// No two adjacent quantifiers match the same characters, so that the time stays linear.
const KEY =
  /(?<exported>export (?=\w+[ \t]*=[ \t]*[^\s#]))?(?<key>[A-Za-z_]\w*)[ \t]*=[ \t]*/.source;
const QUOTED = /"(?<double>[^"\\\r\n]*)"|'(?<single>[^'\r\n]*)'/.source;
const BARE = /(?<bare>[^\s"'`#\\](?:[^"'`#\\\r\n]*[^\s"'`#\\])?)/.source;
const COMMENT = /(?:#[^"'`\r\n]*)/.source;

/**
 * A line that means the same whatever is above and below it: blank, a comment, or an assignment with
 * its value bare or in quotes, and perhaps a comment after it.
 */
const PLAIN_LINE = new RegExp(
  `[ \\t]*(?:${KEY}(?:(?:${QUOTED}|${BARE})[ \\t]*)?)?${COMMENT}?(?:\\r?\\n|$)`,
  "y",
);

/** An assignment in the text of a `.env`. */
export interface Assignment {
  readonly key: string;
  /** `undefined`: only the runtime's parser can tell. */
  readonly value: string | undefined;
  /** Offset of its first line. */
  readonly start: number;
  /** Offset after its last line break. */
  readonly end: number;
  readonly exported: boolean;
  readonly isMultiline?: boolean;
}

/** What a text consists of. */
interface Scan {
  readonly assignments: readonly Assignment[];
  /** Whether all lines are plain, so that all values are certain. */
  readonly isPlain: boolean;
  /** Whether a value begins with a quote that is never closed. */
  readonly isOpen: boolean;
}

/** Finds the assignments of a text. */
export function scanEnvText(text: string): Scan {
  const assignments: Assignment[] = [];
  let isPlain = true;
  let isOpen = false;
  for (let start = text.startsWith(BOM) ? 1 : 0, end = start; start < text.length; start = end) {
    PLAIN_LINE.lastIndex = start;
    const groups = PLAIN_LINE.exec(text)?.groups;
    if (groups === undefined) {
      const other = otherLine(text, start);
      isPlain = false;
      isOpen ||= other.isOpen;
      end = other.end;
      if (other.assignment) assignments.push(other.assignment);
      continue;
    }
    end = PLAIN_LINE.lastIndex;
    const { key, double, single, bare, exported } = groups;
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

/** What `parseEnv` takes for a line: a value in quotes can span several. */
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

/** Reads the text of a `.env` as the runtime does; the last of several lines with one key wins. */
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
 * Removes what `parseEnv` misreads: blanks as the only value (it takes the next line for the value,
 * so that a token could be read as a password), blanks before a comment (it takes the comment for an
 * assignment), and a comment without a line break at the end (it adds blanks to the value).
 */
function forParser(text: string): string {
  const whole = text.startsWith(BOM) ? text.slice(1) : text;
  return `${whole}\n`.replace(/(?<![^\n])([^\n=#"'`]+=)[ \t]+(?=\r?\n)/g, "$1")
    .replace(/(?<![^\n])[ \t]+(?=#)/g, "");
}

/** Loaded synchronously and on demand, because the first module of Node delays the start by 6 to 13 ms. */
function nodeParser(): typeof import("node:util").parseEnv {
  const { process } = globalThis as unknown as {
    process: { getBuiltinModule(name: string): typeof import("node:util") };
  };
  return process.getBuiltinModule("node:util").parseEnv;
}
