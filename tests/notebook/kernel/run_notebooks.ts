/**
 * Runs the notebooks on a real kernel and compares their outputs with those in their files.
 *
 *     deno run -A tests/notebook/kernel/run_notebooks.ts [--update] [FILE...]
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type NotebookReport, type Problem, runNotebook } from "./run_notebook.ts";

const FOLDER = fileURLToPath(new URL("../../../notebooks", import.meta.url));
const USAGE = `usage: deno run -A tests/notebook/kernel/run_notebooks.ts [--update] [FILE...]

  --update      write the outputs of this run into the files
  FILE          notebooks to run; default: all in notebooks/`;

/** The notebooks of a folder in the order of their names. */
export async function listNotebooks(folder: string = FOLDER): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isFile && entry.name.endsWith(".ipynb")) names.push(entry.name);
  }
  return names.sort().map((name) => `${folder}/${name}`);
}

/** The report as lines to print: a single line if there are no problems. */
export function formatReport(report: NotebookReport): string {
  const { name, cells, ms, problems, updated } = report;
  const head = `${problems.length === 0 ? "ok" : "FAILED"} ${name} ${cells} cells ${
    (ms / 1000).toFixed(1)
  } s${updated ? ", updated" : ""}`;
  return [head, ...problems.map(formatProblem)].join("\n");
}

function formatProblem({ cell, message, source, output }: Problem): string {
  const lines = [cell === undefined ? message : `cell [${cell}] ${message}`];
  if (source !== undefined) lines.push(indent(source, "  | "));
  if (output) lines.push("it showed:", indent(output, "  "));
  return indent(lines.join("\n"), "  ");
}

function indent(text: string, by: string): string {
  return text.replace(/^/gm, by);
}

/** Runs the command and returns its exit status: 0 no problems, 1 something differs, 2 wrong usage. */
async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      update: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const paths = positionals.length > 0 ? positionals : await listNotebooks();
  let failed = false;
  for (const path of paths) {
    const report = await runNotebook(path, values);
    console.log(formatReport(report));
    failed ||= report.problems.length > 0;
  }
  return failed ? 1 : 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    const usage = error instanceof TypeError && "code" in error;
    console.error(error instanceof Error ? error.message : String(error));
    if (usage) console.error(USAGE);
    Deno.exit(usage ? 2 : 1);
  }
}
