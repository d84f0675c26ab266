import { pathOf, run } from "./processes.ts";

/** The folder of the project. */
export const ROOT = pathOf("..");

let built: Promise<string> | undefined;

/**
 * The folder with the released files, built once for this run, so that they are never older than
 * the source.
 */
export function releasedFolder(): Promise<string> {
  return built ??= build();
}

async function build(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "bench-dist-" });
  const args = ["task", "--quiet", "build", folder];
  await run({ command: Deno.execPath(), args, cwd: ROOT });
  return folder;
}

/** Removes that folder again. */
export async function removeReleased(): Promise<void> {
  if (built !== undefined) await Deno.remove(await built, { recursive: true });
}
