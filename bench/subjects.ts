import { pathToFileURL } from "node:url";
import { pathOf, type Program, run } from "./processes.ts";

/** A program that is measured along with others, and its requirements. */
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

export function isRunning(one: Contender | Skipped): one is Contender {
  return "program" in one;
}

/** One line for each contender that was left out. */
export function skippedNotes(all: readonly (Contender | Skipped)[]): string[] {
  return all.flatMap((one) => isRunning(one) ? [] : [`Skipped: ${one.name} (${one.why}).`]);
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? "it does not run";
}
