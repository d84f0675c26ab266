import { type Assignment, BOM, parseEnvText, scanEnvText } from "./env_parser.ts";

/**
 * The reason why a text cannot be edited, as the end of a sentence that begins with the name of the
 * file.
 */
export interface Uneditable {
  readonly problem: string;
  readonly fix: string;
}

type Changes = ReadonlyMap<string, string | undefined>;

/**
 * Sets or removes (`undefined`) keys in the text of a `.env`. All other lines are kept byte for
 * byte. A key keeps the position of its first line and its `export `, but loses a comment after its
 * value. Further lines of the same key are removed. A new key is added after the last entry.
 *
 * A text is not edited if a quote is not closed, or if the value of one of these keys spans several
 * lines.
 */
export function editEnvText(text: string, changes: Changes): string | Uneditable {
  for (const [key, value] of changes) {
    if (value !== undefined && formatValue(value) === undefined) {
      return {
        problem: `the value of ${key} contains a character that some programs read differently`,
        fix: 'choose a value without quotes, backslashes, line breaks and "${"',
      };
    }
  }
  const { assignments, isPlain, isOpen } = scanEnvText(text);
  if (isOpen) {
    return { problem: "a quote in it is not closed", fix: "close the quote in an editor" };
  }
  const own = assignments.filter(({ key }) => changes.has(key));
  const multiline = own.find(({ isMultiline }) => isMultiline);
  if (multiline) {
    return {
      problem: `the value of ${multiline.key} in it spans several lines`,
      fix: "put the value on one line, or remove it",
    };
  }
  const edited = apply(text, changes, own);
  // A plain line does not change the meaning of other lines, so plain text needs no verification.
  return isPlain || isAsWanted(text, edited, changes) ? edited : {
    problem: "its quotes leave open where a line ends",
    fix: "correct the quotes in an editor",
  };
}

/**
 * Formats a value so that all common readers of `.env` files read the same value; returns
 * `undefined` if there is no such format.
 */
function formatValue(value: string): string | undefined {
  if (/^[A-Za-z0-9_\-./+=:@%,]*$/.test(value)) return value;
  if (/['\r\n\u2028\u2029]|\\\\|\$\{|\\$/.test(value)) return undefined;
  return `'${value}'`;
}

function apply(text: string, changes: Changes, own: readonly Assignment[]): string {
  const missing = new Map(changes);
  const lineOf = (key: string, value: string | undefined, prefix = "") =>
    value === undefined ? "" : `${prefix}${key}=${formatValue(value)}\n`;
  let edited = "";
  let copied = 0;
  for (const { key, start, end, exported } of own) {
    edited += text.slice(copied, start);
    copied = end;
    edited += lineOf(key, missing.get(key), exported ? "export " : "");
    missing.delete(key);
  }
  edited += text.slice(copied);
  const added = [...missing].map(([key, value]) => lineOf(key, value)).join("");
  if (added === "") return edited;
  const at = endOfEntries(edited);
  const head = edited.slice(0, at);
  const joint = head === "" || head === BOM || head.endsWith("\n") ? "" : "\n";
  return head + joint + added + edited.slice(at);
}

/**
 * Returns the position for new lines: the end of the text, but before any last lines that a reader
 * would join with the next line. `node --env-file` joins indented comments and lines of blanks;
 * most readers join a line whose value is blank.
 */
function endOfEntries(text: string): number {
  let at = text.length;
  for (let start = at, end = at; end >= 0; end = start - 1) {
    start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end);
    if (/^[ \t]+(#[^=]*)?\r?$|^[^#=]*=[ \t]+\r?$/.test(line)) at = start;
    else if (!/^\r?$|^#/.test(line)) break;
  }
  // A byte order mark must stay at the beginning.
  return text.startsWith(BOM) ? Math.max(at, BOM.length) : at;
}

/**
 * Reads the edited text again to verify that the changes took effect and all other values are the
 * same.
 */
function isAsWanted(text: string, edited: string, changes: Changes): boolean {
  const wanted = parseEnvText(text);
  for (const [key, value] of changes) {
    if (value === undefined) wanted.delete(key);
    else wanted.set(key, value);
  }
  const found = parseEnvText(edited);
  return found.size === wanted.size &&
    [...wanted].every(([key, value]) => found.get(key) === value);
}
