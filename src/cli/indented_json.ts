import { escapedInvisible } from "../errors/escape.ts";

const UNIT = "  ";
/** Maximum indentation, because blanks for thousands of nested brackets would fill the memory. */
const MAX_DEPTH = 50;

/**
 * Indents a JSON text without parsing it, so that numbers, names and the order of names stay as
 * they are. Invisible characters in strings are escaped.
 *
 * @param json A valid JSON text.
 * @param depth The depth of the objects around it.
 */
export function indentedJson(json: string, depth = 0): string {
  let isInString = false;
  const lineBreak = () => `\n${UNIT.repeat(Math.min(depth, MAX_DEPTH))}`;
  // In valid JSON, a backslash occurs only in a string, and so do invisible characters.
  const lines = json.replace(/\\.|"|[[{]\s*[\]}]|[[\]{},:]|\s+/g, (token) => {
    if (token === '"') isInString = !isInString;
    if (isInString || /^["\\]/.test(token)) return token;
    if (token === ",") return token + lineBreak();
    if (token === ":") return ": ";
    if (token.trim() === "") return "";
    if (token.length > 1) return token.replace(/\s/g, "");
    if (/[[{]/.test(token)) {
      depth++;
      return token + lineBreak();
    }
    depth--;
    return lineBreak() + token;
  });
  return escapedInvisible(lines);
}
