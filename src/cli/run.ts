/**
 * Runs a command line: finds the command (`commands.ts`), parses its arguments (`parse.ts`) and
 * returns its answer. `cli.ts` then prints the answer or the error (`output.ts`).
 */
import type { Answer } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { UsageError } from "./output.ts";
import { noSuch, parse, splitAtName } from "./parse.ts";
import { closest } from "../errors/closest.ts";
import { setVerbose } from "../platform/log.ts";
import { pathOfUrl } from "../files/paths.ts";

/**
 * Commands of earlier versions and commands that users know from other programs. The advice for
 * each says what to run instead.
 */
const INSTEAD: Readonly<Record<string, string>> = {
  "store-key": "make the key with openssl rand -base64 32",
  whoami: "platform-auth status says who is signed in",
  auth: "leave out auth, as in platform-auth login",
  get: "use platform-auth fetch <path>",
  curl: "use platform-auth fetch <path>",
  update:
    "npm install -g @platform-auth/cli@latest updates the npm package, and git pull updates a clone",
  version: "use platform-auth --version",
  config: "platform-auth init writes the settings into the .env",
  configure: "platform-auth init writes the settings into the .env",
  download: "use platform-auth fetch <path> --output <file>",
};

/**
 * Runs a command line.
 *
 * @param args The arguments after the program name.
 * @param entry The address of the program's entry point.
 * @throws {UsageError} If the arguments are wrong. The command may throw other errors.
 */
export async function answerTo(args: readonly string[], entry: string): Promise<Answer> {
  const [name, rest] = splitAtName(args);
  if (name === undefined) {
    return parse("platform-auth", { options: {} }, rest).version
      ? await versionOf(entry)
      : { text: (await import("./help.ts")).helpOfAll(COMMANDS) };
  }
  if (name === "help") return await answerTo([...rest, "--help"], entry);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
    if (instead !== undefined) throw new UsageError(noSuch("command", name, undefined), instead);
    const meant = closest(name, [...Object.keys(COMMANDS), "help"]);
    throw new UsageError(noSuch("command", name, meant), "see: platform-auth --help");
  }
  const given = parse(`platform-auth ${name}`, command, rest);
  if (given.version) return await versionOf(entry);
  if (given.help) return { text: (await import("./help.ts")).helpOf(name, command) };
  setVerbose(given.verbose);
  if (given.envFile !== undefined) {
    const { configure } = await import("../default_session.ts");
    configure({ envFile: given.envFile === "false" ? false : given.envFile });
  }
  return await (await command.load()).run(given);
}

async function versionOf(entry: string): Promise<Answer> {
  const { version } = await (await import("./release.ts")).release();
  const from = pathOfUrl(entry) ?? entry;
  return { value: { version, from }, text: `platform-auth ${version}, run from ${from}` };
}
