import { type Assignment, BOM, parseEnvText, plainAssignments } from "./env_parser.ts";

/** How many lines of our keys are tried out in a text that is not plain. */
const MAX_TRIALS = 50;
/** How many characters are read for that. Each trial reads the whole text. */
const MAX_TRIED = 2_000_000;

/**
 * Sets or removes (`undefined`) keys in the text of a `.env`. Every other line stays byte for byte.
 * A key keeps its first line and its `export `. A comment behind its value moves to a line of its own.
 * Further lines of the same key are removed. A new key is added at the end.
 *
 * @returns The new text; `undefined` if no edit of this text reads back as wanted.
 */
export function editEnvText(
  text: string,
  changes: ReadonlyMap<string, string | undefined>,
): string | undefined {
  for (const value of changes.values()) {
    if (value !== undefined && formatValue(value) === undefined) return undefined;
  }
  return editPlain(text, changes) ?? editAny(text, changes);
}

/**
 * Edits a plain text: no line changes the meaning of another, so only the lines of these keys are read
 * back.
 */
function editPlain(
  text: string,
  changes: ReadonlyMap<string, string | undefined>,
): string | undefined {
  const keys = [...changes.keys()];
  const assignments = plainAssignments(text, keys);
  if (assignments === undefined) return undefined;
  const edited = apply(text, changes, assignments, "end");
  const found = plainAssignments(edited, keys)?.map(({ key, value }) => [key, value] as const);
  const wanted = [...changes].filter(([, value]) => value !== undefined);
  const isAsWanted = found?.length === wanted.length &&
    found.every(([key, value]) => changes.get(key) === value);
  return isAsWanted ? edited : undefined;
}

/**
 * Edits any other text: quotes may be open, values go on over several lines, and a value can hold a
 * line like one of ours. Where the assignments are is a guess; the whole text is read back to check it.
 */
function editAny(
  text: string,
  changes: ReadonlyMap<string, string | undefined>,
): string | undefined {
  const before = parseEnvText(text);
  const wanted = new Map(before);
  for (const [key, value] of changes) {
    if (value === undefined) wanted.delete(key);
    else wanted.set(key, value);
  }
  const keys = [...changes.keys()];
  for (const wide of [true, false]) {
    const found = findAssignments(text, keys, wide);
    if (found.length > MAX_TRIALS || found.length * text.length > MAX_TRIED) continue;
    // A line like one of ours may stand inside another key's quoted value: that one is left alone.
    const assignments = found.filter((one) => isReal(text, one, found, before));
    // A key that this reading overlooks would get a second line at each save.
    if (keys.some((key) => before.has(key) && !assignments.some((it) => it.key === key))) continue;
    for (const place of ["end", "start"] as const) {
      const edited = apply(text, changes, assignments, place);
      if (sameEntries(parseEnvText(edited), wanted)) return edited;
    }
  }
  return undefined;
}

/**
 * Writes a value so that all common readers of `.env` files read it back alike; `undefined` if there is
 * no such way.
 */
function formatValue(value: string): string | undefined {
  if (/^[A-Za-z0-9_\-./+=:@%,]*$/.test(value)) return value;
  if (/['\r\n\u2028\u2029]|\\\\|\$\{|\\$/.test(value)) return undefined;
  return `'${value}'`;
}

/**
 * Guesses where the assignments of the keys are, also where `plainAssignments` gives up.
 *
 * @param wide Whether a quote that is not closed on its line can be closed on a later one.
 */
function findAssignments(text: string, keys: readonly string[], wide: boolean): Assignment[] {
  const found: Assignment[] = [];
  const head = /([^\n=#]*)=[ \t]*/y;
  for (let start = text.startsWith(BOM) ? 1 : 0, end = start; start < text.length; start = end) {
    let last = endOfLine(text, start);
    head.lastIndex = start;
    const match = head.exec(text);
    if (match !== null) {
      const from = head.lastIndex;
      const quote = text.charAt(from);
      let behind = start + match[0].trimEnd().length;
      if (quote === '"' || quote === "'" || quote === "`") {
        const closing = text.indexOf(quote, from + 1);
        if (closing >= 0 && (closing < last || wide)) {
          behind = closing + 1;
          last = endOfLine(text, closing);
        }
      }
      const name = (match[1] ?? "").trim();
      const key = name.replace(/^export[ \t]+/, "");
      if (keys.includes(key)) {
        const comment = /^[^#]*[ \t](#[^\r]*)/.exec(text.slice(behind, last))?.[1] ?? "";
        const until = Math.min(last + 1, text.length);
        found.push({ key, start, end: until, exported: key !== name, comment });
      }
    }
    end = last + 1;
  }
  return found;
}

/**
 * Where new lines go: at the end, but before these lines, which some readers join to the next one:
 * indented comments and lines of blanks (`node --env-file`), and a value of blanks alone (most).
 */
function endOfEntries(text: string): number {
  let at = text.length;
  for (let start = at, end = at; end >= 0; end = start - 1) {
    start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end);
    if (/^[ \t]+(#[^=]*)?\r?$|^[^#=]*=[ \t]+\r?$/.test(line)) at = start;
    else if (!/^\r?$|^#/.test(line)) break;
  }
  return at;
}

function apply(
  text: string,
  changes: ReadonlyMap<string, string | undefined>,
  assignments: readonly Assignment[],
  place: "start" | "end",
): string {
  const open = new Map(changes);
  let edited = "";
  let copied = 0;
  for (const { key, start, end, exported, comment } of assignments) {
    if (start < copied) continue;
    edited += text.slice(copied, start);
    copied = end;
    if (comment !== "") edited += `${comment}\n`;
    const value = open.get(key);
    if (value !== undefined) edited += `${exported ? "export " : ""}${key}=${formatValue(value)}\n`;
    open.delete(key);
  }
  edited += text.slice(copied);
  let added = "";
  for (const [key, value] of open) {
    if (value !== undefined) added += `${key}=${formatValue(value)}\n`;
  }
  if (added === "") return edited;
  if (place === "end") {
    const at = endOfEntries(edited);
    const head = edited.slice(0, at);
    const joint = head === "" || head === BOM || head.endsWith("\n") ? "" : "\n";
    return head + joint + added + edited.slice(at);
  }
  return edited.startsWith(BOM) ? BOM + added + edited.slice(1) : added + edited;
}

/** Whether the parser reads these lines as an assignment of that key and as nothing else: tries it out. */
function isReal(
  text: string,
  one: Assignment,
  all: readonly Assignment[],
  before: ReadonlyMap<string, string>,
): boolean {
  const probe = `${text.slice(0, one.start)}${one.key}=probe\n${text.slice(one.end)}`;
  const after = parseEnvText(probe);
  if (!sameEntries(without(after, one.key), without(before, one.key))) return false;
  // Of several lines of one key only the last one counts.
  return after.get(one.key) === "probe" || all.some((it) => it !== one && it.key === one.key);
}

function without(values: ReadonlyMap<string, string>, key: string): Map<string, string> {
  return new Map([...values].filter(([name]) => name !== key));
}

function sameEntries(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}
