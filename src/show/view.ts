import { printable } from "../errors/escape.ts";

/**
 * A title and rows: what a status, a diagnosis or a download shows. Drawn as text here and as HTML in
 * `card.ts`.
 *
 * The folder shows values in a notebook and a terminal. It may import `api/` and all below it.
 */
export interface View {
  readonly tone: Tone;
  readonly title: string;
  /** Follows the title, less prominent. */
  readonly note?: string;
  readonly rows: readonly Row[];
  /** An address that is a link in the card wherever a row names it. */
  readonly link?: string | undefined;
}

/** How things are, as a color. `none`: there is nothing to judge. */
export type Tone = "good" | "amber" | "red" | "none";

/** A named line of a view. */
export interface Row {
  readonly name: string;
  readonly value: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
  /** Marks a row that reports a result. */
  readonly level?: Level;
  /** A part of the whole, from 0 to 1, drawn as a bar below the value. */
  readonly share?: number | undefined;
}

/** `ok`; `warn`: works, with a risk; `fail`: does not work; `skip`: no result. */
export type Level = "ok" | "warn" | "fail" | "skip";

/** The mark of a row, in text and in HTML. */
export const LEVEL_MARKS: Readonly<Record<Level, string>> = {
  ok: "✓",
  warn: "!",
  fail: "✗",
  skip: "-",
};

const TITLE_MARKS: Readonly<Record<Tone, string>> = { good: "●", amber: "◐", red: "○", none: "○" };

/** Width of an ordinary terminal, in characters. */
const COLUMNS = 80;

/** A view as text: one line for the title and one for each row. A long fix has its own line. */
export function viewText({ tone, title, note, rows }: View): string {
  const head = note === undefined ? title : `${title} · ${note}`;
  return [`${TITLE_MARKS[tone]} ${printable(head)}`, ...rows.map(rowText)].join("\n");
}

function rowText({ name, value, fix, level }: Row): string {
  const line = `${level ? LEVEL_MARKS[level] : " "} ${printable(`${name}: ${value}`)}`;
  if (!fix) return line;
  const next = `→ ${printable(fix)}`;
  return line.length + 1 + next.length <= COLUMNS ? `${line} ${next}` : `${line}\n  ${next}`;
}
