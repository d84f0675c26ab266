/** Shortens a text that is longer than `maxLength`, and ends it with an ellipsis. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** Width of a notebook with an open side bar, in characters. */
const COLUMNS = 60;

/**
 * Matches a text that is not broken across lines, because people copy it: a word with the flags
 * that follow it, or a call with its options.
 */
const WORD = /(?:\(\{[^}]{0,60}\}\)|[^ ]| +(?=-\S))+/g;

/**
 * Breaks a text into lines at blanks. A word longer than a line, such as an address, is not broken.
 *
 * @param indent The start of each line after the first.
 * @param columns The maximum length of a line.
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
