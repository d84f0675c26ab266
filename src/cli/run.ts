import { type Answer, type Command, GLOBAL } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { UsageError } from "./failure.ts";
import { parse, splitAtCommand, unknown } from "./parse.ts";
import { closest } from "../errors/closest.ts";
import { filePath } from "../platform/paths.ts";

/**
 * Runs a command line.
 *
 * @param args The arguments after the program name.
 * @param entry The address of the program's entry point.
 * @throws {UsageError} If the arguments are wrong, and whatever the command throws.
 */
export async function answerTo(args: readonly string[], entry: string): Promise<Answer> {
  const { name, rest } = splitAtCommand(args);
  if (name === undefined) return args.some(isVersion) ? await version(entry) : await helpOfAll();
  if (name === "help") {
    return rest.length === 0 ? await helpOfAll() : await answerTo([...rest, "--help"], entry);
  }
  const found = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (found === undefined) throw unknownCommand(name);
  if ("optionNames" in found) return { status: await (await found.load()).start(rest) };
  const given = parse(name, found, rest);
  if (given.version) return await version(entry);
  if (given.help) return await helpOf(name, found);
  if (given.envFile !== undefined) {
    const { configure } = await import("../default_session.ts");
    configure({ envFile: given.envFile === "false" ? false : given.envFile });
  }
  return await (await found.load()).run(given);
}

function isVersion(argument: string): boolean {
  return argument === "--version" || argument === `-${GLOBAL.version.short}`;
}

/** As text, because `deno.json` has comments. */
async function version(entry: string): Promise<Answer> {
  const { default: text } = await import("../../deno.json", { with: { type: "text" } });
  const version = /"version": ?"([^"]+)"/.exec(text)?.[1] ?? "";
  const url = new URL(entry);
  const from = url.protocol === "file:" ? filePath(url) : entry;
  return { value: { version, from }, text: `platform-auth ${version}, run from ${from}` };
}

async function helpOfAll(): Promise<Answer> {
  return { text: (await import("./help.ts")).helpOfAll(COMMANDS) };
}

async function helpOf(name: string, command: Command): Promise<Answer> {
  return { text: (await import("./help.ts")).helpOf(name, command) };
}

function unknownCommand(given: string): UsageError {
  const meant = closest(given, [...Object.keys(COMMANDS), "help"]);
  return new UsageError(
    `There is ${unknown("command", given, meant)}`,
    "see: platform-auth --help",
  );
}
