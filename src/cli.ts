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
import { printAnswer } from "./cli/output.ts";
import { report } from "./cli/report.ts";
import { answerTo } from "./cli/run.ts";
import { TERMINAL } from "./cli/terminal.ts";
import { setFrontEnd } from "./errors/advice.ts";

/**
 * Runs a command.
 *
 * @param args The arguments after the program name.
 * @returns The exit status: 0 success, 1 failure, 2 wrong usage, 3 login required.
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
  const json = args.includes("--json");
  try {
    return await printAnswer(await answerTo(args, import.meta.url), json);
  } catch (error) {
    return report(error, json);
  }
}

if (import.meta.main) Deno.exit(await runCli(Deno.args));
