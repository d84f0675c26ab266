/** Runs commands in the test's own process, which takes less time than a process for each. */
import { runCli } from "../../src/cli.ts";
import type { Answer } from "../../src/cli/command.ts";
import { answerTo } from "../../src/cli/run.ts";
import type { StartSandboxOptions } from "../../src/sandbox/mod.ts";
import type { ChildResult } from "../support/child_deno.ts";
import {
  childEnvironment,
  type CliWorld,
  type CommandOptions,
  inCliWorld,
} from "../support/cli_world.ts";
import { withEnvironment } from "../support/environment.ts";

/** URL of the program's entry point, from which some commands derive their output. */
export const ENTRY: string = import.meta.resolve("../../src/cli.ts");

/** Returns the result of a command, or throws its error. */
export function answerOf(...args: string[]): Promise<Answer> {
  return answerTo(args, ENTRY);
}

/**
 * A world whose `run` does not start a process. The working folder of this process is another one, so
 * the commands get the `.env` in `AUTH_ENV_FILE`, and have all permissions.
 */
export function inOwnProcess(
  use: (world: CliWorld) => Promise<void>,
  options: StartSandboxOptions = {},
): Promise<void> {
  return inCliWorld(async (world) => {
    const run: CliWorld["run"] = (args, { env, stdin }: CommandOptions = {}) =>
      resultOf(args, { AUTH_ENV_FILE: world.envFile, ...env }, stdin);
    await use({ ...world, run });
  }, options);
}

async function resultOf(
  args: string[],
  env: Record<string, string>,
  stdin: CommandOptions["stdin"] = "",
): Promise<ChildResult> {
  const real = { stdin: Deno.stdin, stdout: Deno.stdout, stderr: Deno.stderr };
  const { error } = console;
  const { timeout } = AbortSignal;
  let [stdout, stderr] = ["", ""];
  const decoder = new TextDecoder();
  const write = (bytes: Uint8Array) => {
    stdout += decoder.decode(bytes, { stream: true });
    return Promise.resolve(bytes.length);
  };
  const isTerminal = () => false;
  // A new process has no session in memory.
  Reflect.deleteProperty(globalThis, Symbol.for("platform-auth default session 0"));
  const unset = Object.keys(Deno.env.toObject()).map((name) => [name, undefined]);
  const variables = { ...Object.fromEntries(unset), ...childEnvironment(env) };
  Object.assign(Deno, {
    stdin: { isTerminal, readable: new Response(stdin as BodyInit).body },
    stdout: { isTerminal, write },
    stderr: { isTerminal },
  });
  // On a busy machine, even a call of the sandbox may take seconds.
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.max(ms, 60_000));
  console.error = (line) => stderr += `${line}\n`;
  try {
    const code = await withEnvironment(variables, () => runCli(args));
    return { code, stdout, stderr };
  } finally {
    Object.assign(Deno, real);
    AbortSignal.timeout = timeout;
    console.error = error;
  }
}
