/** Runs a notebook on a new kernel and reports the differences from its file. */

import { basename, dirname, resolve } from "node:path";
import { describeOutputs, isSame } from "./compare_outputs.ts";
import { type CellResult, PYTHON, startKernel } from "./kernel.ts";
import {
  type CodeCell,
  codeCells,
  hasTag,
  type Notebook,
  type NumberedCodeCell,
  readNotebook,
  withoutRemoved,
} from "./notebook.ts";
import { hideSecrets, scanForSecrets } from "./scan_for_secrets.ts";

const UNSTABLE = "unstable-output";

export interface RunOptions {
  /** Write outputs and counts back into the file when nothing is wrong. Default `false`. */
  update?: boolean;
  /** Cells to run after one of the notebook's cells. The report contains their results. */
  further?: (cell: CodeCell, index: number) => readonly CodeCell[];
}

export interface NotebookReport {
  name: string;
  /** What to repair, without secrets. */
  problems: string[];
  /** Whether the file was rewritten. */
  isUpdated: boolean;
  results: ReadonlyMap<CodeCell, CellResult>;
}

/**
 * Runs every code cell in order, without standard input, in the notebook's own folder.
 *
 * A cell that fails ends the run, unless it is tagged `raises-exception`: then it must fail in the
 * same way as in the file.
 */
export async function runNotebook(
  path: string,
  options: RunOptions = {},
): Promise<NotebookReport> {
  const committed = await readNotebook(path);
  const { results, problems } = await runCells(
    codeCells(committed).flatMap(({ number, cell }) => {
      const further = options.further?.(cell, committed.cells.indexOf(cell)) ?? [];
      return [cell, ...further].map((cell) => ({ number, cell }));
    }),
    path,
  );
  const shown = withResults(committed, results);
  const update = options.update === true && problems.length === 0;
  const file = update ? keepUnstable(committed, shown) : committed;
  if (!update) {
    problems.push(...codeCells(committed).flatMap((each) => differences(each, results)));
  }
  if ((file.metadata.kernelspec as { name?: string } | undefined)?.name !== "deno") {
    problems.push("metadata: kernelspec is not deno, so Jupyter would start another");
  }
  problems.push(...new Set([file, shown].flatMap(scanForSecrets)));

  const text = await Deno.readTextFile(path);
  const newText = update && problems.length === 0 ? await formatNotebook(file) : text;
  const isUpdated = newText !== text;
  if (isUpdated) await Deno.writeTextFile(path, newText);
  return { name: basename(path), problems, isUpdated, results };
}

/** Runs cells one after the other on a kernel in the folder of `path`. The first failure ends the run. */
async function runCells(
  cells: readonly NumberedCodeCell[],
  path: string,
): Promise<{ results: Map<CodeCell, CellResult>; problems: string[] }> {
  const results = new Map<CodeCell, CellResult>();
  await using kernel = await startKernel({ cwd: dirname(resolve(path)) });
  for (const { number, cell } of cells) {
    const result = await kernel.execute(cell.source);
    const mayFail = hasTag(cell, "raises-exception");
    if (mayFail === (result.status === "error")) {
      results.set(cell, result);
      continue;
    }
    const message = mayFail ? "is tagged raises-exception and did not fail" : failureOf(result);
    return { results, problems: [`cell [${number}] ${message}\n${hideSecrets(cell.source)}`] };
  }
  return { results, problems: [] };
}

function differences(
  { number, cell }: NumberedCodeCell,
  results: ReadonlyMap<CodeCell, CellResult>,
): string[] {
  const outputs = results.get(cell)?.outputs;
  const isUnstable = hasTag(cell, UNSTABLE);
  if (outputs === undefined || isSame(cell.outputs, outputs, isUnstable)) return [];
  const tag = isUnstable ? "" : `, or tag the cell ${UNSTABLE} if only amounts differ`;
  return [
    `cell [${number}] shows something else; run with --update if that is meant${tag}\n` +
    `the file has:\n${describeOutputs(cell.outputs)}\nnow:\n${describeOutputs(outputs)}`,
  ];
}

/**
 * The notebook as this run showed it; cells that did not run keep their outputs. The data that an
 * editor adds at each run, times and whether the cell is folded, is removed.
 */
function withResults(notebook: Notebook, results: ReadonlyMap<CodeCell, CellResult>): Notebook {
  const shown = structuredClone(notebook);
  for (const { metadata } of shown.cells) {
    for (const name of ["execution", "ExecuteTime", "collapsed"]) delete metadata[name];
  }
  const before = codeCells(notebook);
  for (const [index, { number, cell }] of codeCells(shown).entries()) {
    const result = before[index] && results.get(before[index].cell);
    if (result === undefined) continue;
    cell.execution_count = number;
    cell.outputs = structuredClone(withoutRemoved(result.outputs));
  }
  return shown;
}

/**
 * Some outputs differ from run to run. If only their amounts differ, keeps those of the file, so
 * that an update does not change the file each time. Keeps or replaces all of them together, because
 * one cell may count what another cell saved.
 */
function keepUnstable(committed: Notebook, shown: Notebook): Notebook {
  const kept = structuredClone(shown);
  const before = codeCells(committed);
  for (const [index, { number, cell }] of codeCells(kept).entries()) {
    const old = withoutRemoved(before[index]?.cell.outputs ?? []);
    if (!hasTag(cell, UNSTABLE)) continue;
    if (!isSame(old, cell.outputs, true)) return shown;
    cell.outputs = old.map((output) =>
      output.output_type === "execute_result" ? { ...output, execution_count: number } : output
    );
  }
  return kept;
}

const FORMAT = "import nbformat, sys; nbformat.write(nbformat.read(sys.stdin, 4), sys.stdout)";

/** The text of a file as Jupyter writes it, by Python's nbformat. */
async function formatNotebook(notebook: Notebook): Promise<string> {
  const python = new Deno.Command(PYTHON, {
    args: ["-c", FORMAT],
    env: { PYTHONIOENCODING: "utf-8" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  await new Blob([JSON.stringify(notebook)]).stream().pipeTo(python.stdin);
  const { success, stdout } = await python.output();
  if (!success) throw new Error("nbformat cannot write this notebook");
  return new TextDecoder().decode(stdout);
}

function failureOf({ ename, evalue, traceback = [] }: CellResult): string {
  const error = `failed with ${ename}: ${hideSecrets(evalue ?? "")}`;
  return traceback.length > 0
    ? error
    : `${error}; it may not parse, or an import failed: run its code with deno run`;
}
