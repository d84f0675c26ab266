/** Notebooks as files: nbformat 4.5 in and out, written byte for byte as Jupyter writes them. */

import { mergeStreams, type MimeBundle, type Output, tracebackOf } from "./outputs.ts";
import { isRecord, type JsonRecord, recordOf, textOf } from "../kernel/wire.ts";

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
  const file: unknown = JSON.parse(text);
  if (!isRecord(file) || file.nbformat !== 4 || !Array.isArray(file.cells)) {
    throw new SyntaxError("expected a notebook of format 4; save it with a current Jupyter");
  }
  return {
    cells: file.cells.map((cell, index) => parseCell(recordOf(cell), index)),
    metadata: recordOf(file.metadata),
    nbformat: 4,
    nbformat_minor: 5,
  };
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

/** Without what an editor adds at each run: times, and whether the cell is folded. */
export function stripVolatile(notebook: Notebook): Notebook {
  const cells = notebook.cells.map((cell) => {
    const { execution: _execution, ExecuteTime: _time, collapsed: _collapsed, ...metadata } =
      cell.metadata;
    return { ...cell, metadata };
  });
  return { ...notebook, cells };
}

function parseCell(cell: JsonRecord, index: number): Cell {
  const common = {
    id: textOf(cell.id) || `cell-${index + 1}`,
    metadata: recordOf(cell.metadata),
    source: joinLines(cell.source),
  };
  if (cell.cell_type === "code") {
    const count = cell.execution_count;
    const outputs = Array.isArray(cell.outputs) ? cell.outputs : [];
    return {
      cell_type: "code",
      ...common,
      outputs: mergeStreams(outputs.map((output) => parseOutput(recordOf(output)))),
      execution_count: typeof count === "number" ? count : null,
    };
  }
  if (cell.cell_type === "markdown" || cell.cell_type === "raw") {
    const attachments = isRecord(cell.attachments) ? { attachments: cell.attachments } : {};
    return { cell_type: cell.cell_type, ...common, ...attachments };
  }
  throw new SyntaxError(`cell ${index + 1} has an unknown type`);
}

function parseOutput(output: JsonRecord): Output {
  const type = output.output_type;
  const metadata = recordOf(output.metadata);
  if (type === "stream") {
    const name = output.name === "stderr" ? "stderr" : "stdout";
    return { output_type: type, name, text: joinLines(output.text) };
  }
  if (type === "error") {
    const [ename, evalue] = [textOf(output.ename), textOf(output.evalue)];
    return { output_type: type, ename, evalue, traceback: tracebackOf(output) };
  }
  const data: MimeBundle = mapValues(
    recordOf(output.data),
    (value, mime) => isJsonMime(mime) ? value : joinLines(value),
  );
  if (type === "display_data") return { output_type: type, data, metadata };
  if (type === "execute_result") {
    const count = output.execution_count;
    return {
      output_type: type,
      data,
      metadata,
      execution_count: typeof count === "number" ? count : null,
    };
  }
  throw new SyntaxError("an output has an unknown type");
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
  return Array.isArray(value) ? value.map(String).join("") : textOf(value);
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([key, inner]) => [key, sortKeys(inner)]));
}

function mapValues(
  record: JsonRecord,
  map: (value: unknown, key: string) => unknown,
): JsonRecord {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
