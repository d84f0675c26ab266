/**
 * The command line: the same verbs as the library.
 *
 * ```sh
 * deno install -g -A --no-config -n platform-auth src/cli.ts
 * platform-auth login && platform-auth fetch /v1/stations
 * ```
 *
 * @module
 */
import { report, TERMINAL } from "./cli/output.ts";
import { runArgs } from "./cli/run.ts";
import { setFrontEnd } from "./errors/advice.ts";

/**
 * Runs a command.
 *
 * @param args The words behind the program's name.
 * @returns The exit status: 0 ok, 1 failed, 2 wrong usage, 3 a login is needed.
 *
 * @example
 * ```ts
 * import { runCli } from "@platform-auth/platform-auth/cli";
 *
 * console.log(await runCli(["--version"])); // 0
 * ```
 */
export async function runCli(args: readonly string[]): Promise<number> {
  setFrontEnd(TERMINAL);
  try {
    return await runArgs(args);
  } catch (error) {
    return report(error, args.includes("--json"));
  }
}

if (import.meta.main) Deno.exit(await runCli(Deno.args));
