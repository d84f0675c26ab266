/** A duration in the two largest units that matter. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 91) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A number of bytes in the unit that fits, decimal as disks are sold. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const units = ["kB", "MB", "GB", "TB"];
  const step = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** step).toFixed(1)} ${units[step - 1]}`;
}

/** A number of things, for sentences: their noun in the singular where it is one. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A duration in whole words, for sentences. */
export function spanText(ms: number): string {
  const seconds = Math.max(1, Math.floor(ms / 1_000));
  const minutes = Math.round(ms / 60_000);
  const [count, unit] = seconds < 90
    ? [seconds, "second"]
    : minutes < 120
    ? [minutes, "minute"]
    : minutes < 2_880
    ? [Math.floor(minutes / 60), "hour"]
    : [Math.floor(minutes / 1_440), "day"];
  return counted(count, unit);
}

/** An instant to the minute, in UTC, so that a saved notebook says the same everywhere. */
export function timeText(date: Date): string {
  return Number.isNaN(date.getTime())
    ? "an unknown time"
    : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** What could move a cursor, turn the direction of text, or hide in it. */
const INVISIBLE = /\p{Cc}|\p{Cf}|[\u2028\u2029]/gu;

/** A line to show. Names come from tokens and files, so invisible characters are taken out. */
export function printable(line: string): string {
  return line.replace(INVISIBLE, "");
}

/** A line as HTML: what markup is made of is escaped, invisible characters are taken out. */
export function escapeHtml(line: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return printable(line).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** The beginning of a text that is longer. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** What a notebook shows in one line beside an open side bar, in characters. */
const COLUMNS = 60;

/** A word, with the flags behind it and the options of a call: people copy commands and calls. */
const WORD = /(?:\(\{[^}]{0,60}\}\)|[^ ]| +(?=-\S))+/g;

/**
 * A text broken at blanks into lines; a longer word, such as an address, stays whole where it is.
 *
 * @param indent What the lines after the first begin with.
 * @param columns The most characters of a line.
 */
export function wrapped(text: string, indent = "", columns: number = COLUMNS): string {
  const lines: string[] = [];
  const start = text.length - text.trimStart().length;
  let line = text.slice(0, start);
  for (const word of text.slice(start).match(WORD) ?? []) {
    const longer = line.trim() === "" ? line + word : `${line} ${word}`;
    const fitsNowhere = indent.length + word.length > columns;
    if (longer.length <= columns || line.trim() === "" || fitsNowhere) line = longer;
    else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].join("\n");
}

/** A value as JSON to show. It parses to the same value; invisible characters in it are escaped. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(INVISIBLE, (character) => {
    if (character === "\n") return character;
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/** A shorter beginning fits too many words. */
const SHORTEST_BEGINNING = 3;

/**
 * The known word that a mistyped one was meant to be, or the only one that begins with it; `undefined`
 * if none is near. A word that is near to none may be a secret in the wrong place: it must not be quoted.
 */
export function closest(word: string, known: readonly string[]): string | undefined {
  const given = word.toLowerCase();
  const near = known.map((each) => ({ each, edits: editsBetween(given, each.toLowerCase()) }))
    .filter(({ each, edits }) => edits <= 2 && edits < each.length / 2);
  if (near.length > 0) return near.sort((a, b) => a.edits - b.edits)[0]?.each;
  const [longer, ...others] = known.filter((each) => each.toLowerCase().startsWith(given));
  return given.length >= SHORTEST_BEGINNING && others.length === 0 ? longer : undefined;
}

/**
 * How many characters must be put in, taken out or replaced to make one word of the other (Levenshtein);
 * one if two neighbors only changed places, as fingers do.
 */
export function editsBetween(from: string, to: string): number {
  const isSwapped = [...to].some((character, at) =>
    from === to.slice(0, at) + to.charAt(at + 1) + character + to.slice(at + 2)
  );
  if (isSwapped && from !== to) return 1;
  let row = [...Array(to.length + 1).keys()];
  // Words that differ that much in length are never near.
  if (Math.abs(from.length - to.length) > 2) return Infinity;
  for (const [at, character] of [...from].entries()) {
    let left = at + 1;
    row = row.map((above, column) => {
      if (column === 0) return left;
      const replaced = (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1);
      return left = Math.min(above + 1, left + 1, replaced);
    });
  }
  return row.at(-1) ?? 0;
}
