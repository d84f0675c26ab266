import { linesIn } from "./env_parser.ts";

/**
 * The reason why a text cannot be edited, as the end of a sentence that begins with the name of the
 * file.
 */
export interface Uneditable {
  readonly problem: string;
  readonly fix: string;
}

/**
 * Sets or removes (`undefined`) keys in the text of a `.env`. All other lines are kept byte for
 * byte. A key keeps the position of its first line and its `export `, but loses a comment after its
 * value. Further lines of the same key are removed. A new key is added at the end.
 *
 * A text is not edited if a quote is not closed, or if the value of one of these keys spans several
 * lines.
 */
export function editEnvText(
  text: string,
  changes: ReadonlyMap<string, string | undefined>,
): string | Uneditable {
  for (const [key, value = ""] of changes) {
    if (formatValue(value) === undefined) {
      return {
        problem: `the value of ${key} contains a character that not all programs read alike`,
        fix: "choose a value without quotes, backslashes and line breaks",
      };
    }
  }
  const lines = linesIn(text);
  if (lines.some(({ isOpen }) => isOpen)) {
    return { problem: "a quote in it is not closed", fix: "close the quote in an editor" };
  }
  const multiline = lines.find(({ key = "", isMultiline }) => isMultiline && changes.has(key));
  if (multiline) {
    return {
      problem: `the value of ${multiline.key} in it spans several lines`,
      fix: "put the value on one line, or remove it",
    };
  }
  const missing = new Map(changes);
  const edited = lines.map(({ text, key = "", isExported }) => {
    if (!changes.has(key)) return text;
    const line = lineOf(key, missing.get(key), isExported ? "export " : "");
    missing.delete(key);
    return line;
  }).join("");
  const added = [...missing].map(([key, value]) => lineOf(key, value)).join("");
  const isCut = edited !== "" && !edited.endsWith("\n");
  return edited + (isCut && added !== "" ? "\n" : "") + added;
}

function lineOf(key: string, value: string | undefined, prefix = ""): string {
  return value === undefined ? "" : `${prefix}${key}=${formatValue(value)}\n`;
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
