/**
 * The command line. Its commands have the names of the library's functions.
 *
 * ```sh
 * deno install -g -A --no-config -n platform-auth src/cli.ts
 * platform-auth login && platform-auth fetch /v1/stations
 * ```
 *
 * @module
 */
import { printAnswer, report } from "./cli/output.ts";
import { answerTo } from "./cli/run.ts";
import { type FrontEnd, setFrontEnd } from "./errors/advice.ts";

/** Changes the advice in messages: it contains commands instead of library calls. */
const TERMINAL: FrontEnd = {
  call({ options }) {
    if (options?.strategy) return `platform-auth login --${options.strategy}`;
    return options?.force ? "platform-auth login --force" : "platform-auth login";
  },
  inProgram: ({ inTerminal = "" }) => inTerminal,
};

/**
 * Runs a command.
 *
 * @param args The arguments after the program name.
 * @returns The exit status: 0 success, 1 failure, 2 wrong usage, 3 login required, 130 prompt
 * canceled.
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
    return report(error, json, args.includes("--stdin"));
  }
}

if (import.meta.main) Deno.exit(await runCli(Deno.args));
