import { pathToFileURL } from "node:url";
import { interleave } from "./interleave.ts";
import { pathOf, peakMemory, type Program, run } from "./processes.ts";
import { figure, summaryColumns, summaryRows, type Table } from "./report.ts";
import { median, type Summary } from "./stats.ts";

/** A program whose whole process is measured, from its start to its exit. */
export interface Contender {
  readonly name: string;
  readonly program: Program;
}

/** The reason why a contender cannot run here. */
export interface Skipped {
  readonly name: string;
  readonly why: string;
}

/**
 * A script as its user would run it: in a separate project, whose lock file contains only its
 * packages.
 *
 * @param script Its path. A relative path starts at this folder.
 */
export async function denoContender(
  name: string,
  script: string,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Contender | Skipped> {
  const lock = `${folder}/${name.replaceAll(/\W+/g, "-")}.lock`;
  const flags = ["--quiet", "--no-config", `--lock=${lock}`];
  const path = pathOf(script);
  try {
    await run({ command: Deno.execPath(), args: ["cache", ...flags, path], cwd: folder });
  } catch (error) {
    return { name, why: lastLine(error) };
  }
  const args = ["run", ...flags, "--frozen", "-A", path];
  return { name, program: { command: Deno.execPath(), args, cwd: folder, env } };
}

/** The same script with the import of the released file. */
export async function releasedContender(
  name: string,
  script: string,
  folder: string,
  released: string,
): Promise<Contender | Skipped> {
  const text = await Deno.readTextFile(pathOf(script));
  const copy = `${folder}/${script.replaceAll("/", "-")}`;
  await Deno.writeTextFile(copy, text.replace("../../mod.ts", pathToFileURL(released).href));
  return await denoContender(name, copy, folder);
}

/** A Python script of this folder. Its interpreter is called directly, not through a shim. */
export async function pythonContender(
  name: string,
  script: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  needs: string,
): Promise<Contender | Skipped> {
  const probe = `import sys, ${needs}; print(sys.executable)`;
  try {
    const { stdout } = await run({ command: "python3", args: ["-c", probe], cwd: folder });
    return { name, program: { command: stdout.trim(), args: [pathOf(script)], cwd: folder, env } };
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no python3" : lastLine(error);
    return { name, why };
  }
}

/** Runs the contenders in turn: milliseconds of each, by its name. */
export async function compete(
  contenders: readonly (Contender | Skipped)[],
  count: number,
): Promise<Map<string, number[]>> {
  const subjects = contenders.filter(isRunning).map(({ name, program }) => ({
    name,
    measure: async () => (await run(program)).milliseconds,
  }));
  return await interleave(subjects, count);
}

/** Times and peak memory, which is measured in separate runs. */
export async function tableOf(
  title: string,
  contenders: readonly (Contender | Skipped)[],
  summaries: ReadonlyMap<string, Summary>,
): Promise<Table> {
  const running = contenders.filter(isRunning);
  const memory = new Map<string, number>();
  for (const { name, program } of running) {
    const peaks = [await peakMemory(program), await peakMemory(program), await peakMemory(program)];
    memory.set(name, median(peaks));
  }
  const rows = summaryRows(summaries, "ms").map((row) => [
    ...row,
    `${figure(memory.get(String(row[0])) ?? NaN)} MiB`,
  ]);
  return {
    title,
    columns: [...summaryColumns("program", running[0]?.name ?? ""), "peak memory"],
    rows,
    notes: contenders.flatMap((one) =>
      isRunning(one) ? [] : [`Left out: ${one.name} (${one.why}).`]
    ),
  };
}

function isRunning(one: Contender | Skipped): one is Contender {
  return "program" in one;
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? "it does not run";
}
