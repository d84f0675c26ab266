import type { Answer, Given } from "../command.ts";
import { print, UsageError } from "../output.ts";
import { saveSandboxSettings } from "../settings_file.ts";
import {
  addAccount,
  describeSandbox,
  FIRST_PORT,
  optionsOf,
  variablesOf,
} from "../../sandbox/command_line.ts";
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
  await using sandbox = await checked(() => started(flags));
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

/** Starts the sandbox. If the user specified no port and the default ports are taken, uses others. */
async function started(flags: Readonly<Record<string, unknown>>) {
  const options = optionsOf(flags);
  try {
    return await startSandbox(options);
  } catch (error) {
    // Only the error for a port that cannot be opened has a cause.
    if (flags.port !== undefined || !(error instanceof Error) || !error.cause) throw error;
    const ports = `${FIRST_PORT}, ${FIRST_PORT + 1} or ${FIRST_PORT + 2}`;
    await print(`Port ${ports} is in use, so the sandbox uses free ports.`);
    return await startSandbox({ ...options, port: 0 });
  }
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
