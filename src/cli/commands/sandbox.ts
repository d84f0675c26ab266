import type { Answer, Given } from "../command.ts";
import { print, UsageError } from "../output.ts";
import { saveSandboxSettings } from "../settings_file.ts";
import { addAccount, describeSandbox, optionsOf, variablesOf } from "../../sandbox/command_line.ts";
import { startSandbox } from "../../sandbox/start_sandbox.ts";

interface SandboxFlags {
  /** The other options, which set the behavior of the sandbox. */
  readonly [name: string]: unknown;
  readonly challenge: string;
  readonly user: readonly string[];
  readonly "write-env": string;
}

/** Runs the sandbox until Ctrl+C. */
export async function run({ options }: Given<SandboxFlags>): Promise<Answer> {
  const { user: users = [], "write-env": folder, ...flags } = options;
  await using sandbox = await checked(() => startSandbox(optionsOf(flags)));
  const others = await checked(() => users.map((user) => addAccount(sandbox, user)));
  const envFile = folder && await saveSandboxSettings(folder, variablesOf(sandbox));
  const stopped = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stopped.resolve);
  await print(describeSandbox(sandbox, envFile, others));
  await stopped.promise;
  for (const signal of signals) Deno.removeSignalListener(signal, stopped.resolve);
  return {};
}

/**
 * Turns the sandbox's errors into usage errors, because each message names the wrong option. The
 * sandbox imports nothing from the client, so its errors have no code by which to tell them apart.
 */
async function checked<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(problem, "see: platform-auth sandbox --help");
  }
}
