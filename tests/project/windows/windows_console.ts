/** Runs the commands of tests in Deno for Windows, in a Windows console. */
import { neededVariables } from "../../support/child_deno.ts";
import { CLI_PATH } from "../../support/cli_world.ts";
import { windowsCommand, windowsRoot } from "../../support/windows_command.ts";

/**
 * Unless the terminal is raw, Wine loses input that arrives before the program first reads. A wide
 * console does not fold lines, so that tests can compare them.
 */
const LISTENING = 'stty raw -echo rows 50 cols 1500; "$0" "$@"; code=$?; stty sane; exit $code';

/** The same command in Wine. Its folder must be in the root folder. */
export function consoleCommand(
  [, ...args]: string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): string[] {
  const { root, cli } = windowsRoot();
  const words = args.map((word) => word === CLI_PATH ? cli : word);
  const needed = neededVariables();
  const own = Object.entries(env).filter(([name]) => !Object.hasOwn(needed, name));
  const command = windowsCommand(words, cwd.slice(root.length), Object.fromEntries(own));
  return ["sh", "-c", LISTENING, ...command];
}
