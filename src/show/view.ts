/**
 * Views, and how to draw a view as text. `card.ts` draws a view as HTML. `diagnosis.ts` and each
 * `…_view.ts` make views.
 */
import { printable } from "../errors/escape.ts";

/**
 * A title and rows that show a status, a diagnosis or a download.
 *
 * This folder shows values in a notebook and a terminal. It may import `api/` and all layers below
 * it.
 */
export interface View {
  readonly tone: Tone;
  readonly title: string;
  /** Text after the title, shown less prominently. */
  readonly note?: string;
  readonly rows: readonly Row[];
  /** An address that the card shows as a link in every row that contains it. */
  readonly link?: string | undefined;
}

/** The color of a view. `none` means neither good nor bad. */
export type Tone = "good" | "amber" | "red" | "none";

/** A named line of a view. */
export interface Row {
  readonly name: string;
  readonly value: string;
  /** The next step for the user. */
  readonly fix?: string | undefined;
  /** Marks a row that reports a result. */
  readonly level?: Level;
  /** A part of the whole, from 0 to 1, drawn as a bar below the value. */
  readonly share?: number | undefined;
}

/**
 * The result of a row: `ok` works, `warn` works with a risk, `fail` does not work, `skip` has no
 * result.
 */
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

/**
 * Draws a view as text, with one line for the title and one line for each row. A long fix is on a
 * separate line.
 */
export function viewText({ tone, title, note, rows }: View): string {
  const head = note === undefined ? title : `${title} · ${note}`;
  return [`${TITLE_MARKS[tone]} ${printable(head)}`, ...rows.map(rowText)].join("\n");
}

function rowText({ name, value, fix, level }: Row): string {
  const line = `${level ? LEVEL_MARKS[level] : " "} ${printable(`${name}: ${value}`)}`;
  if (!fix) return line;
  const next = `→ ${printable(fix)}`;
  const joined = `${line} ${next}`;
  return joined.length <= COLUMNS ? joined : `${line}\n  ${next}`;
}
