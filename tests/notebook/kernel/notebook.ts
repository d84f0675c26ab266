/** Notebooks of nbformat 4: their files, cells and outputs. */

/** An output of a cell, with the properties that its type has. */
export interface Output {
  output_type: "stream" | "display_data" | "execute_result" | "error";
  /** Of a stream: `stdout` or `stderr`, and the printed text. */
  name?: string;
  text?: string;
  /** Of a display or a result: the formats by their MIME type. */
  data?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  execution_count?: number | null;
  /** Of an error. */
  ename?: string;
  evalue?: string;
  traceback?: string[];
}

export interface Cell {
  cell_type: "code" | "markdown" | "raw";
  id: string;
  metadata: Record<string, unknown>;
  source: string;
}

export interface CodeCell extends Cell {
  cell_type: "code";
  outputs: Output[];
  execution_count: number | null;
}

export interface Notebook {
  cells: (CodeCell | Cell & { cell_type: "markdown" | "raw" })[];
  metadata: Record<string, unknown>;
  nbformat: 4;
  nbformat_minor: number;
}

/** A code cell with the number that its run gets: 1 for the first code cell. */
export interface NumberedCodeCell {
  number: number;
  cell: CodeCell;
}

/** The members that a file stores as a list of lines. */
const TEXTS = /^(?:source|text|(?:text|image)\/.+)$/;

export async function readNotebook(path: string | URL): Promise<Notebook> {
  return JSON.parse(
    await Deno.readTextFile(path),
    (key, value) => TEXTS.test(key) && Array.isArray(value) ? value.join("") : value,
  );
}

export async function writeNotebook(path: string | URL, notebook: Notebook): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(notebook));
}

/** The code cells that a front end would run; empty ones are skipped and get no number. */
export function codeCells(notebook: Notebook): NumberedCodeCell[] {
  return notebook.cells
    .filter((cell) => cell.cell_type === "code")
    .filter((cell) => cell.source.trim() !== "")
    .map((cell, index) => ({ number: index + 1, cell }));
}

/** Whether the cell carries the tag, such as `raises-exception` or `unstable-output`. */
export function hasTag({ metadata: { tags } }: Cell, tag: string): boolean {
  return Array.isArray(tags) && tags.includes(tag);
}

/** Omits removed outputs, such as a line of progress, because a fast machine shows no progress. */
export function withoutRemoved(outputs: readonly Output[]): Output[] {
  return outputs.filter(({ data }) =>
    data === undefined || Object.values(data).some((text) => text !== "")
  );
}
