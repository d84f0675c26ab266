import { pathOf, type Program, run } from "./processes.ts";

/** A program to be measured beside others, and what it may need. */
export interface Contender {
  readonly name: string;
  readonly program: Program;
}

/** What a contender that cannot be run here is missing. */
export interface Skipped {
  readonly name: string;
  readonly why: string;
}

/**
 * A script of this folder as its user would run it: in a project of its own, whose lock file names
 * its packages and no others.
 */
export async function denoContender(
  name: string,
  script: string,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Contender | Skipped> {
  const lock = `${folder}/${script.replaceAll("/", "-")}.lock`;
  const flags = ["--quiet", "--no-config", `--lock=${lock}`];
  const prepare = {
    command: Deno.execPath(),
    args: ["cache", ...flags, pathOf(script)],
    cwd: folder,
  };
  try {
    await run(prepare);
  } catch (error) {
    return { name, why: lastLine(error) };
  }
  const args = ["run", ...flags, "--frozen", "-A", pathOf(script)];
  return { name, program: { command: Deno.execPath(), args, cwd: folder, env } };
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
