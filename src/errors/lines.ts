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
