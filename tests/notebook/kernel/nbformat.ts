/** Notebooks as files: nbformat 4.5 in and out, written byte for byte as Jupyter writes them. */

import { type JsonRecord, type Output, withoutRemoved } from "./outputs.ts";

/** A text or a raw cell. */
export interface TextCell {
  cell_type: "markdown" | "raw";
  id: string;
  metadata: JsonRecord;
  source: string;
  attachments?: JsonRecord;
}

export interface CodeCell {
  cell_type: "code";
  id: string;
  metadata: JsonRecord;
  source: string;
  outputs: Output[];
  execution_count: number | null;
}

export type Cell = TextCell | CodeCell;

export interface Notebook {
  cells: Cell[];
  metadata: JsonRecord;
  nbformat: 4;
  nbformat_minor: number;
}

/** A code cell with the number that its run gets: 1 for the first code cell. */
export interface NumberedCodeCell {
  number: number;
  cell: CodeCell;
}

export async function readNotebook(path: string | URL): Promise<Notebook> {
  try {
    return parseNotebook(await Deno.readTextFile(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SyntaxError(`Cannot read ${path}: ${error.message}`, { cause: error });
  }
}

export async function writeNotebook(path: string | URL, notebook: Notebook): Promise<void> {
  await Deno.writeTextFile(path, formatNotebook(notebook));
}

export function parseNotebook(text: string): Notebook {
  const file = JSON.parse(text);
  if (file.nbformat !== 4) throw new SyntaxError("expected a notebook of format 4");
  return { ...file, cells: file.cells.map(parseCell), nbformat_minor: 5 };
}

/** One space of indent, sorted keys, texts as lists of lines, a newline at the end. */
export function formatNotebook(notebook: Notebook): string {
  const cells = notebook.cells.map((cell) => ({
    ...cell,
    source: splitLines(cell.source),
    ...(cell.cell_type === "code" && { outputs: cell.outputs.map(formatOutput) }),
  }));
  return JSON.stringify(sortKeys({ ...notebook, cells }), null, 1) + "\n";
}

/** The code cells that a front end would run; empty ones are skipped and get no number. */
export function codeCells(notebook: Notebook): NumberedCodeCell[] {
  return notebook.cells
    .filter((cell) => cell.cell_type === "code")
    .filter((cell) => cell.source.trim() !== "")
    .map((cell, index) => ({ number: index + 1, cell }));
}

/** Whether the cell carries the tag, such as `raises-exception` or `unstable-output`. */
export function hasTag(cell: Cell, tag: string): boolean {
  return Array.isArray(cell.metadata.tags) && cell.metadata.tags.includes(tag);
}

/** Removes the data that an editor adds at each run: times, and whether the cell is folded. */
export function stripVolatile(notebook: Notebook): Notebook {
  const cells = notebook.cells.map((cell) => {
    const { execution: _execution, ExecuteTime: _time, collapsed: _collapsed, ...metadata } =
      cell.metadata;
    return { ...cell, metadata };
  });
  return { ...notebook, cells };
}

function parseCell(cell: Cell, index: number): Cell {
  const { id = `cell-${index + 1}`, source } = cell;
  const parsed = { ...cell, id, source: joinLines(source) };
  return parsed.cell_type === "code"
    ? { ...parsed, outputs: withoutRemoved(parsed.outputs.map(parseOutput)) }
    : parsed;
}

function parseOutput(output: Output): Output {
  if (output.output_type === "error") return output;
  if (output.output_type === "stream") return { ...output, text: joinLines(output.text) };
  const data = mapValues(
    output.data,
    (value, mime) => isJsonMime(mime) ? value : joinLines(value),
  );
  return { ...output, data };
}

function formatOutput(output: Output): JsonRecord {
  if (output.output_type === "stream") return { ...output, text: splitLines(output.text) };
  if (output.output_type === "error") return { ...output };
  const data = mapValues(
    output.data,
    (value, mime) => typeof value === "string" && !isJsonMime(mime) ? splitLines(value) : value,
  );
  return { ...output, data };
}

function isJsonMime(mime: string): boolean {
  return /^application\/(.*\+)?json$/.test(mime);
}

function joinLines(value: unknown): string {
  return Array.isArray(value) ? value.join("") : String(value);
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([key, inner]) => [key, sortKeys(inner)]));
}

function mapValues(
  record: JsonRecord,
  map: (value: unknown, key: string) => unknown,
): JsonRecord {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
