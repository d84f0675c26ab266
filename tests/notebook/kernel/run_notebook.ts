/** Runs a notebook on a new kernel and reports the differences from its file. */

import { basename, dirname, resolve } from "node:path";
import { compareOutputs, describeOutputs } from "./compare_outputs.ts";
import { type CellResult, PYTHON, searchPath, startKernel } from "./kernel.ts";
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

// The settings of the person who runs it would change the outputs.
const OWN_SETTINGS =
  /^(?:AUTH_|APP_CLIENT_|API_BASE_URL$|API_ALLOWED_ORIGINS$|USER_POOL_ID$|PASSWORD$|ACCESS_TOKEN|REFRESH_TOKEN$|AUTHENTICATED_AT$|FORCE_COLOR$)/;

export interface RunOptions {
  /** Write outputs and counts back into the file when nothing is wrong. Default `false`. */
  update?: boolean;
  /** Cells to run after one of the notebook's cells. The report contains their results. */
  further?: (cell: CodeCell, index: number) => readonly CodeCell[];
}

/** Something to repair, without secrets. */
export interface Problem {
  message: string;
  /** Number of the code cell, as in `[3]`. */
  cell?: number;
  source?: string;
  /** The outputs of this run. */
  output?: string;
}

export interface NotebookReport {
  name: string;
  /** Code cells in the notebook. */
  cells: number;
  ms: number;
  problems: Problem[];
  /** Whether the file was rewritten. */
  updated: boolean;
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
  const started = performance.now();
  const committed = await readNotebook(path);
  const cells = codeCells(committed);
  const further = ({ number, cell }: NumberedCodeCell) =>
    options.further?.(cell, committed.cells.indexOf(cell)).map((cell) => ({ number, cell })) ?? [];
  const { results, problems } = await runCells(
    cells.flatMap((each) => [each, ...further(each)]),
    path,
  );
  const shown = withResults(committed, results);
  const update = options.update === true && problems.length === 0;
  const file = update ? keepUnstable(committed, shown) : committed;

  if (!update) {
    const compared = cells.filter(({ number }) => problems.every(({ cell }) => cell !== number));
    problems.push(...compared.flatMap((cell) => differences(cell, results.get(cell.cell))));
  }
  if ((file.metadata.kernelspec as { name?: string } | undefined)?.name !== "deno") {
    problems.push({ message: "metadata: kernelspec is not deno, so Jupyter would start another" });
  }
  const secrets = new Set([file, shown].flatMap(scanForSecrets));
  problems.push(...[...secrets].map((message) => ({ message })));

  const text = await Deno.readTextFile(path);
  const newText = update && problems.length === 0 ? await formatNotebook(file) : text;
  const updated = newText !== text;
  if (updated) await Deno.writeTextFile(path, newText);
  const ms = performance.now() - started;
  return { name: basename(path), cells: cells.length, ms, problems, updated, results };
}

/** Runs cells one after the other on a kernel in the folder of `path`. The first failure ends the run. */
async function runCells(
  cells: readonly NumberedCodeCell[],
  path: string,
): Promise<{ results: Map<CodeCell, CellResult>; problems: Problem[] }> {
  const results = new Map<CodeCell, CellResult>();
  await using kernel = await startKernel({
    cwd: dirname(resolve(path)),
    clearEnv: true,
    env: kernelEnvironment(),
  });
  for (const numbered of cells) {
    const { cell } = numbered;
    const result = await kernel.execute(cell.source).catch(String);
    if (typeof result === "string") return { results, problems: [problemOf(numbered, result)] };
    results.set(cell, result);
    const mayFail = hasTag(cell, "raises-exception");
    if (mayFail === (result.status === "error")) continue;
    const message = mayFail ? "is tagged raises-exception and did not fail" : failureOf(result);
    return { results, problems: [problemOf(numbered, message, result)] };
  }
  return { results, problems: [] };
}

function differences(numbered: NumberedCodeCell, result: CellResult | undefined): Problem[] {
  if (result === undefined) return [];
  const unstable = hasTag(numbered.cell, UNSTABLE);
  return compareOutputs(numbered.cell.outputs, result.outputs, { unstable })
    .map((message) => problemOf(numbered, message, result));
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
    if (compareOutputs(old, cell.outputs, { unstable: true }).length > 0) return shown;
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

function problemOf(
  { number, cell }: NumberedCodeCell,
  message: string,
  result?: CellResult,
): Problem {
  const problem = { cell: number, source: hideSecrets(cell.source), message: hideSecrets(message) };
  return result ? { ...problem, output: describeOutputs(result.outputs) } : problem;
}

function failureOf(result: CellResult): string {
  const error = `failed with ${result.ename ?? "Error"}: ${result.evalue ?? ""}`;
  return result.traceback?.length
    ? error
    : `${error}; it may not parse, or an import failed: run its code with deno run`;
}

function kernelEnvironment(): Record<string, string> {
  const kept = Object.entries(Deno.env.toObject()).filter(([name]) => !OWN_SETTINGS.test(name));
  // Without NO_COLOR, plain text contains escape codes for colors.
  return { ...Object.fromEntries(kept), PATH: searchPath(true), NO_COLOR: "1" };
}
