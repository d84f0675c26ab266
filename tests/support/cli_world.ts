/** Commands of the command line in separate processes, with the documented flags. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSession } from "../../mod.ts";
import { type Sandbox, startSandbox, type StartSandboxOptions } from "../../src/sandbox/mod.ts";
import { type ChildResult, decoded, inFolder, neededVariables } from "./child_deno.ts";
import { COMMAND_FLAGS, filledIn } from "./documented_flags.ts";
import "./quick_signatures.ts";
import { variablesOf, writeEnv } from "./sandbox_env.ts";

/** Path of the command line's entry point. */
export const CLI_PATH: string = fileURLToPath(import.meta.resolve("../../src/cli.ts"));

/** The environment of every command, with the variables that a test adds. */
export function childEnvironment(more: Record<string, string> = {}): Record<string, string> {
  return { ...neededVariables(), NO_PROXY: "127.0.0.1", ...more };
}

export interface CommandOptions {
  env?: Record<string, string>;
  /** Permission flags instead of the documented ones. */
  flags?: readonly string[];
  /** The command line's entry point. Default: the one of this source. */
  cli?: string;
  /** The text or bytes on standard input. Default: nothing. */
  stdin?: string | Uint8Array;
  /** A script of `sh` that runs the command as `"$@"`. */
  shell?: string;
}

/** A sandbox, a folder with a `.env` for it, and commands that run there. */
export interface CliWorld {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly envFile: string;
  readonly variables: Record<string, string>;
  /** The documented flags of a command. */
  flagsOf(command: string): string[];
  /** The program and its arguments, for tests that start it themselves. */
  commandLine(args: string[], flags?: readonly string[]): string[];
  start(args: string[], options?: CommandOptions): Deno.ChildProcess;
  run(args: string[], options?: CommandOptions): Promise<ChildResult>;
  /** The options that allow `fetch` to send the token to this origin, too. */
  reaching(origin: string): CommandOptions;
  /** Logs in the user of the sandbox, in this process. */
  signIn(): Promise<void>;
}

/** Makes a world, uses it, and removes it. */
export async function inCliWorld(
  use: (world: CliWorld) => Promise<void>,
  options: StartSandboxOptions = {},
): Promise<void> {
  await using sandbox = await startSandbox(options);
  const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
  await inFolder(async (folder) => {
    const variables = variablesOf(sandbox.settings);
    await writeEnv(folder, variables);
    const flagsOf = (command: string) => filledIn(COMMAND_FLAGS.get(command) ?? [], hosts);
    const commandLine = (
      args: string[],
      flags: readonly string[] = flagsOf(args[0] ?? ""),
      cli = CLI_PATH,
    ) => [
      ...[Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-lock"],
      ...[...flags, cli, ...args],
    ];
    const start = (args: string[], given: CommandOptions = {}): Deno.ChildProcess => {
      const script = given.shell === undefined ? [] : ["sh", "-c", given.shell, "sh"];
      const line = [...script, ...commandLine(args, given.flags, given.cli)];
      const [program = "", ...words] = line;
      return new Deno.Command(program, {
        args: words,
        cwd: folder,
        clearEnv: true,
        env: childEnvironment(given.env),
        stdin: given.stdin === undefined ? "null" : "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
    };
    const run = async (args: string[], given: CommandOptions = {}): Promise<ChildResult> => {
      const child = start(args, given);
      if (given.stdin !== undefined) {
        const writer = child.stdin.getWriter();
        const { stdin } = given;
        await writer.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin);
        await writer.close();
      }
      return decoded(await child.output());
    };
    const envFile = join(folder, ".env");
    const signIn = async () => {
      await createSession({ ...sandbox.settings, envFile }).login();
    };
    const reaching = (origin: string): CommandOptions => ({
      flags: filledIn(COMMAND_FLAGS.get("fetch") ?? [], {
        ...hosts,
        api: `${hosts.api},${new URL(origin).host}`,
      }),
      env: { API_ALLOWED_ORIGINS: origin },
    });
    const tools = { flagsOf, commandLine, start, run, reaching, signIn };
    await use({ sandbox, folder, envFile, variables, ...tools });
  });
}
