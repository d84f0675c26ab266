/**
 * Runs the notebooks on a real kernel and compares their outputs with those in their files.
 *
 *     deno task notebooks [--update] [FILE...]
 *
 * With `--update`, writes the outputs of this run into the files.
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type NotebookReport, runNotebook } from "./run_notebook.ts";

const FOLDER = fileURLToPath(new URL("../../../notebooks", import.meta.url));

/** The notebooks in the order of their names. */
export async function listNotebooks(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (name.endsWith(".ipynb")) names.push(name);
  }
  return names.sort().map((name) => `${FOLDER}/${name}`);
}

/** The report as lines to print: a single line if there are no problems. */
export function formatReport({ name, problems, isUpdated }: NotebookReport): string {
  const head = `${problems.length === 0 ? "ok" : "FAILED"} ${name}${isUpdated ? ", updated" : ""}`;
  return [head, ...problems].join("\n").replaceAll("\n", "\n  ");
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { update: { type: "boolean", default: false } },
  });
  for (const path of positionals.length > 0 ? positionals : await listNotebooks()) {
    const report = await runNotebook(path, values);
    console.log(formatReport(report));
    if (report.problems.length > 0) Deno.exitCode = 1;
  }
}
