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

/** A value as JSON to show. It parses to the same value; invisible characters in it are escaped. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(INVISIBLE, (character) => {
    if (character === "\n") return character;
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
