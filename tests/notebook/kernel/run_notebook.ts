/** Runs a notebook on a new kernel and reports the differences from its file. */

import { tmpdir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { type CellResult, CellTimeoutError, startKernel } from "./kernel.ts";
import {
  type CodeCell,
  codeCells,
  compareOutputs,
  describeOutputs,
  formatNotebook,
  hasTag,
  hideSecrets,
  type Notebook,
  type NumberedCodeCell,
  readNotebook,
  scanForSecrets,
  stripVolatile,
  writeNotebook,
} from "./notebook.ts";
import { withoutRemoved } from "./outputs.ts";

const TIMEOUT_MS = 180_000;
const UNSTABLE = "unstable-output";

// The settings of the person who runs it would change the outputs.
const OWN_SETTINGS =
  /^(?:AUTH_|APP_CLIENT_|API_BASE_URL$|API_ALLOWED_ORIGINS$|USER_POOL_ID$|PASSWORD$|ACCESS_TOKEN|REFRESH_TOKEN$|AUTHENTICATED_AT$|FORCE_COLOR$)/;

export interface RunOptions {
  /** Write outputs and counts back into the file when nothing is wrong. Default `false`. */
  update?: boolean;
  /** Limit for all cells together. Default 180 000. */
  timeoutMs?: number;
  /** Ends the kernel and with it the run. */
  signal?: AbortSignal;
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
  const all = cells.flatMap((each) => [each, ...further(each)]);
  const { results, problems } = await runCells(all, path, options);
  const shown = withResults(committed, results);
  const update = options.update === true && problems.length === 0;
  const file = update ? keepUnstable(committed, shown) : committed;

  const isNew = ({ number, cell }: NumberedCodeCell): boolean =>
    results.has(cell) && !problems.some((problem) => problem.cell === number);
  if (!update) problems.push(...cells.filter(isNew).flatMap((cell) => differences(cell, results)));
  if ((file.metadata.kernelspec as { name?: string } | undefined)?.name !== "deno") {
    problems.push({ message: "metadata: kernelspec is not deno, so Jupyter would start another" });
  }
  const secrets = new Set([file, shown].flatMap(scanForSecrets));
  problems.push(...[...secrets].map((message) => ({ message })));

  const updated = update && problems.length === 0 &&
    formatNotebook(file) !== await Deno.readTextFile(path);
  if (updated) await writeNotebook(path, file);
  const ms = performance.now() - started;
  return { name: basename(path), cells: cells.length, ms, problems, updated, results };
}

/**
 * Runs cells one after the other on a kernel in the folder of `path`. The first failure ends the run.
 * Runs of one notebook write the same files, so they wait for each other.
 */
async function runCells(
  cells: readonly NumberedCodeCell[],
  path: string,
  options: RunOptions = {},
): Promise<{ results: Map<CodeCell, CellResult>; problems: Problem[] }> {
  const results = new Map<CodeCell, CellResult>();
  using turn = await Deno.open(`${tmpdir()}/platform-auth-${basename(path)}.lock`, {
    create: true,
    write: true,
  });
  await turn.lock(true);
  await using kernel = await startKernel({
    cwd: dirname(resolve(path)),
    clearEnv: true,
    env: kernelEnvironment(),
  });
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  const stop = (): Promise<void> => kernel.close();
  options.signal?.throwIfAborted();
  options.signal?.addEventListener("abort", stop);
  try {
    for (const numbered of cells) {
      const { cell } = numbered;
      try {
        const left = Math.max(1, Math.round(deadline - performance.now()));
        const result = await kernel.execute(cell.source, { timeoutMs: left });
        results.set(cell, result);
        const mayFail = hasTag(cell, "raises-exception");
        if (result.status === "error" && !mayFail) {
          return { results, problems: [problemOf(numbered, failureOf(result), result)] };
        }
        if (result.status === "ok" && mayFail) {
          const message = "is tagged raises-exception and did not fail";
          return { results, problems: [problemOf(numbered, message, result)] };
        }
      } catch (error) {
        const late = error instanceof CellTimeoutError;
        const message = late
          ? `was still running when the limit of ${timeoutMs / 1000} s for the notebook was over`
          : String(error);
        const outputs = late ? error.outputs : [];
        return { results, problems: [problemOf(numbered, message, { outputs })] };
      }
    }
    return { results, problems: [] };
  } finally {
    options.signal?.removeEventListener("abort", stop);
  }
}

function differences(
  numbered: NumberedCodeCell,
  results: ReadonlyMap<CodeCell, CellResult>,
): Problem[] {
  const result = results.get(numbered.cell);
  if (result === undefined) return [];
  const unstable = hasTag(numbered.cell, UNSTABLE);
  return compareOutputs(numbered.cell.outputs, result.outputs, { unstable })
    .map((message) => problemOf(numbered, message, result));
}

/** The notebook as this run showed it; cells that did not run keep their outputs. */
function withResults(notebook: Notebook, results: ReadonlyMap<CodeCell, CellResult>): Notebook {
  const shown = structuredClone(stripVolatile(notebook));
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
 * Keeps the unstable outputs of the file if only amounts differ, so that an update does not change it
 * each time. They are kept or replaced together: one cell may count what another one has saved.
 */
function keepUnstable(committed: Notebook, shown: Notebook): Notebook {
  const kept = structuredClone(shown);
  const before = codeCells(committed);
  for (const [index, { number, cell }] of codeCells(kept).entries()) {
    const old = before[index]?.cell.outputs ?? [];
    if (!hasTag(cell, UNSTABLE)) continue;
    if (compareOutputs(old, cell.outputs, { unstable: true }).length > 0) return shown;
    cell.outputs = old.map((output) =>
      output.output_type === "execute_result" ? { ...output, execution_count: number } : output
    );
  }
  return kept;
}

function problemOf(
  { number, cell }: NumberedCodeCell,
  message: string,
  result?: Pick<CellResult, "outputs">,
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
  // Without it plain text holds escape codes for colors.
  return { ...Object.fromEntries(kept), NO_COLOR: "1" };
}
