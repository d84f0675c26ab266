import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";
import { inKernel } from "../errors/advice.ts";
import { escapeHtml, printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";
import { readRows, type Rows } from "./rows.ts";
import { type Bundle, display } from "./show.ts";

/** Options of {@linkcode table}. */
export interface TableOptions<Column extends string = string> {
  /** Maximum number of rows to show. Default 50; `Infinity` shows all. */
  rows?: number;
  /**
   * The columns to show, in this order. If the rows are lists, their columns get these names.
   * Default: the first 100 columns.
   */
  columns?: readonly Column[];
  /** A line above the table. Default: none. */
  caption?: string;
}

/** The column names in the type of the rows; any text if the type has no column names. */
export type ColumnOf<Rows> = Rows extends Iterable<infer Row>
  ? Row extends readonly unknown[] ? string
  : [keyof Row] extends [never] ? string
  : Extract<keyof Row, string>
  : Rows extends Readonly<Record<string, ArrayLike<unknown>>> ? Extract<keyof Rows, string>
  : string;

const ROWS = 50;
/** Maximum length of a cell. Longer cells are cut. In HTML, a click shows the whole cell. */
const CELL = 60;
const TEXT_CELL = 40;
/** Width of a text output in a notebook. */
const TEXT_WIDTH = 80;

/**
 * Shows rows as a table under its cell. The table scrolls and states the number of rows. Long cells
 * are cut; a click opens them. Outside a notebook, the table is printed as text, at the width of
 * the terminal.
 *
 * Rows are a list of objects or of lists, an object with a list for each column, or a data frame of
 * Arquero or nodejs-polars.
 *
 * ```ts ignore
 * const rows = await fetchJson("/v1/stations");
 * await table(rows);
 * await table(rows, { columns: ["name", "elevationM"], caption: "All stations" });
 * ```
 *
 * @throws {TypeError} If the value does not consist of rows, or a column or an option does not
 * exist.
 */
export function table<Rows extends object>(
  rows: Rows,
  options: TableOptions<ColumnOf<Rows>> = {},
): Promise<void> {
  // This function is not async, so that a wrong argument throws at once. Without `await`, a
  // rejected promise would end the kernel.
  return display(tableBundle(rows, options));
}

/** Returns rows as text and as HTML. */
export function tableBundle(given: unknown, options: TableOptions = {}): Bundle {
  const types = { rows: ["number"], columns: ["array of strings"], caption: ["string"] };
  checkOptions("table()", options, types);
  const { rows: limit = ROWS, columns, caption } = options;
  if (!(limit >= 0)) throw typeError("table() takes zero or more as rows");
  const rows = readRows(given, Math.floor(limit), columns);
  const columnCells = rows.columns.map((_, at) => rows.cells.map((row) => row[at]));
  const numeric = columnCells.map(isNumeric);
  const decimals = columnCells.map(decimalsOf);
  const texts = rows.cells.map((row) => row.map((value, at) => cellText(value, decimals[at])));
  const view: View = { ...rows, texts, caption, numeric };
  return { "text/plain": plainTable(view), "text/html": htmlTable(view) };
}

/** Rows as they are shown. */
interface View extends Rows {
  readonly texts: readonly (readonly string[])[];
  readonly caption: string | undefined;
  /** Whether a column has only numbers, which are aligned to the right. */
  readonly numeric: readonly boolean[];
}

function isNumeric(column: readonly unknown[]): boolean {
  const values = column.filter((value) => value != null);
  return values.every((value) => typeof value === "number" || typeof value === "bigint");
}

/** Maximum number of decimals, as in pandas. */
const MOST_DECIMALS = 6;

/** Number of decimals for all numbers of a column; `undefined` if one of them has an exponent. */
function decimalsOf(column: readonly unknown[]): number | undefined {
  // Numbers are rounded to 15 digits, so that 0.1 + 0.2 is shown as 0.3.
  const texts = column.filter(Number.isFinite).map((value) => `${+Number(value).toPrecision(15)}`);
  if (texts.some((text) => text.includes("e"))) return undefined;
  const most = texts.reduce((most, text) => Math.max(most, text.split(".")[1]?.length ?? 0), 0);
  return Math.min(most, MOST_DECIMALS);
}

/**
 * Returns a value as text: `undefined` as an empty cell, `null` as "null".
 *
 * @param decimals Number of decimals, if the value is a number.
 */
function cellText(value: unknown, decimals: number | undefined): string {
  const isFinite = typeof value === "number" && Number.isFinite(value);
  if (isFinite && decimals !== undefined) return value.toFixed(decimals);
  if (value === undefined) return "";
  if (value instanceof Date && Number.isFinite(value.getTime())) {
    return value.toISOString().replace(".000Z", "Z");
  }
  if (typeof value !== "object" || value === null) return String(value);
  const hasWords = typeof value.toString === "function" &&
    value.toString !== Object.prototype.toString && !Array.isArray(value);
  return hasWords ? String(value) : Deno.inspect(value, { breakLength: Infinity, compact: true });
}

/** Returns the numbers of rows and columns, in total and as shown. */
function countText({ cells, rowCount, columns, columnCount }: Rows): string {
  const number = (count: number) => count.toLocaleString("en");
  const of = (count: number, noun: string) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const rows = cells.length < rowCount
    ? `the first ${number(cells.length)} of ${of(rowCount, "row")}`
    : of(rowCount, "row");
  const seen = columns.length < columnCount ? `${number(columns.length)} of ` : "";
  return `${rows}, ${seen}${of(columnCount, "column")}`;
}

/**
 * The styles of a table. They override every property that front ends set on tables, as in
 * `show/card.ts`.
 */
const LINE = "1px solid rgba(128,128,128,.3)";
const BOX =
  "border:0;padding:3px 12px 3px 6px;vertical-align:top;white-space:nowrap;max-width:none;" +
  "line-height:1.4";
/** The background of the page, so that scrolling rows do not show through the header. */
const PAGE = "var(--jp-layout-color0,var(--vscode-editor-background,Canvas))";

/**
 * Returns the table as HTML. The table inherits text color and font from the page. It contains
 * neither scripts nor style sheets, so that saved and untrusted notebooks also show it.
 */
function htmlTable({ columns, texts, numeric, caption, ...counts }: View): string {
  const side = (at: number) => `text-align:${numeric[at] ? "right" : "left"}`;
  const head = columns.map((name, at) =>
    `<th scope="col" style="${BOX};${side(at)};font-weight:600;position:sticky;top:0;` +
    `background:${PAGE};box-shadow:inset 0 -1px rgba(128,128,128,.5)">${escapeHtml(name)}</th>`
  );
  const body = texts.map((row) =>
    `<tr style="border:0;border-bottom:${LINE};background:none">${
      row.map((text, at) => `<td style="${BOX};${side(at)}">${htmlCell(text)}</td>`).join("")
    }</tr>`
  );
  const title = caption === undefined
    ? ""
    : `<div style="font-weight:600;margin-bottom:4px">${escapeHtml(caption)}</div>`;
  const name = escapeHtml(caption ?? "Table");
  return `<div style="font-size:13px">${title}` +
    `<div role="region" aria-label="${name}" tabindex="0" style="overflow:auto;max-height:420px">` +
    `<table style="border:0;border-collapse:collapse;margin:0;font-size:inherit;` +
    `font-variant-numeric:tabular-nums"><thead style="border:0"><tr style="border:0">` +
    `${head.join("")}</tr></thead><tbody>${body.join("")}</tbody></table></div>` +
    `<div style="opacity:.7;font-size:12px;margin-top:4px">` +
    `${countText({ columns, ...counts })}</div></div>`;
}

function htmlCell(text: string): string {
  const line = oneLine(text);
  if (line.length <= CELL) return escapeHtml(line);
  const all = text.split("\n").map(escapeHtml).join("<br>");
  return `<details><summary style="cursor:pointer;display:list-item">${
    escapeHtml(shortened(line, CELL))
  }</summary>` +
    `<div style="white-space:pre-wrap;overflow-wrap:break-word;max-width:480px">${all}</div></details>`;
}

/** Returns the table as text. Columns that do not fit are listed below the table. */
function plainTable({ columns, texts, numeric, caption, ...counts }: View): string {
  const cut = (text: string) => shortened(printable(oneLine(text)), TEXT_CELL);
  const lines = [columns, ...texts].map((row) => row.map(cut));
  const widths = columns.map((_, at) =>
    lines.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), 0)
  );
  const GAP = 2;
  const available = textWidth();
  let used = -GAP;
  const fitting = widths.filter((width) => (used += width + GAP) <= available).length || 1;
  const rule = widths.map((width) => "-".repeat(width));
  const [head = [], ...body] = lines;
  const printed = [head, rule, ...body].map((row) =>
    row.slice(0, fitting)
      .map((text, at) =>
        numeric[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0)
      )
      .join(" ".repeat(GAP)).trimEnd()
  );
  const left = columns.slice(fitting).map(cut);
  return [
    ...(caption === undefined ? [] : [printable(caption)]),
    ...(columns.length === 0 ? [] : printed),
    ...(left.length === 0 ? [] : [`further columns: ${left.join(", ")}`]),
    countText({ columns, ...counts }),
  ].join("\n");
}

/**
 * Returns the width of a text table, in characters. A kernel may have a terminal, but its output is
 * shown elsewhere, so the width of the terminal is not used.
 */
function textWidth(): number {
  return inKernel() || !Deno.stdout.isTerminal() ? TEXT_WIDTH : Deno.consoleSize().columns;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
