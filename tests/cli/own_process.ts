/** Tests of commands, most of which run in the test's own process: that takes less time. */
import { runCli } from "../../src/cli.ts";
import type { Answer } from "../../src/cli/command.ts";
import { answerTo } from "../../src/cli/run.ts";
import type { StartSandboxOptions } from "../../src/sandbox/mod.ts";
import type { ChildResult } from "../support/child_deno.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { withOnly } from "../support/environment.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { type Lack, needing } from "../support/needs.ts";

/** URL of the program's entry point, from which some commands derive their output. */
export const ENTRY: string = import.meta.resolve("../../src/cli.ts");

/** Returns the result of a command, or throws its error. */
export function answerOf(...args: string[]): Promise<Answer> {
  return answerTo(args, ENTRY);
}

export interface CommandWorld extends CliWorld {
  /**
   * Runs a command in this process, with all permissions. The working folder is another one, so
   * `AUTH_ENV_FILE` names the `.env`.
   */
  run: CliWorld["run"];
  /** Runs a command in a separate process, with the documented permissions. */
  runSeparately: CliWorld["run"];
}

/** Registers a test of commands. It fails after two minutes, so that no command can hang the tests. */
export function commandTest(
  name: string,
  use: (world: CommandWorld) => Promise<void>,
  { lack, ...sandbox }: StartSandboxOptions & { lack?: Lack | undefined } = {},
): void {
  const fn = () =>
    inCliWorld((world) => {
      const run: CliWorld["run"] = (args, { env, stdin } = {}) =>
        resultOf(args, { AUTH_ENV_FILE: world.envFile, ...env }, stdin);
      return use({ ...world, run, runSeparately: world.run });
    }, sandbox);
  Deno.test({ ...needing(lack, name), timeout: 120_000, fn });
}

async function resultOf(
  args: string[],
  env: Record<string, string>,
  stdin: string | Uint8Array = "",
): Promise<ChildResult> {
  const { stdin: realStdin, stdout: realStdout, stderr: realStderr } = Deno;
  const { error } = console;
  let [stdout, stderr] = ["", ""];
  const decoder = new TextDecoder();
  const isTerminal = () => false;
  const write = (bytes: Uint8Array) => {
    stdout += decoder.decode(bytes, { stream: true });
    return Promise.resolve(bytes.length);
  };
  Object.assign(Deno, {
    stdin: { isTerminal, readable: new Response(stdin as BodyInit).body },
    stdout: { isTerminal, write },
    stderr: { isTerminal },
  });
  console.error = (line) => stderr += `${line}\n`;
  // A new process has no session in memory.
  Reflect.deleteProperty(globalThis, Symbol.for("platform-auth default session 0"));
  using _ = heldTimeouts();
  try {
    const code = await withOnly(childEnvironment(env), () => runCli(args));
    return { code, stdout, stderr };
  } finally {
    Object.assign(Deno, { stdin: realStdin, stdout: realStdout, stderr: realStderr });
    console.error = error;
  }
}
