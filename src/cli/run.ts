import { parseArgs } from "node:util";
import { type Command, COMMON, type Given, type Options } from "./command.ts";
import { allCommands, commandNamed } from "./commands.ts";
import { OK, print, UsageError } from "./output.ts";
import { closest } from "../errors/closest.ts";

/** Runs the command that the words behind the program's name tell. @returns The exit status. */
export async function runArgs(args: readonly string[]): Promise<number> {
  const [name = "--help", ...rest] = args;
  if (name === "--version" || name === "-V") {
    await print(`platform-auth ${await version()}`);
    return OK;
  }
  if (name === "--help" || name === "-h" || name === "help") return await printHelp(rest[0]);
  const command = await commandNamed(name);
  if (command === undefined) throw await unknownCommand(name);
  if ("start" in command) return await command.start(rest);
  const { help, ...given } = parse(name, command, rest);
  if (help) return await printHelp(name);
  if (given.envFile !== undefined) {
    const { configure } = await import("../default_session.ts");
    configure({ envFile: given.envFile === "false" ? false : given.envFile });
  }
  return await command.run(given);
}

/** It stands in one place only. As text, because that file has comments. */
async function version(): Promise<string> {
  const { default: text } = await import("../../deno.json", { with: { type: "text" } });
  return /"version": ?"([^"]+)"/.exec(text)?.[1] ?? "";
}

async function printHelp(name: string | undefined): Promise<number> {
  const { generalHelp, helpOf } = await import("./help.ts");
  if (name === undefined) {
    await print(await generalHelp());
    return OK;
  }
  const command = await commandNamed(name);
  if (command === undefined) throw await unknownCommand(name);
  if ("start" in command) return await command.start(["--help"]);
  await print(helpOf(name, command));
  return OK;
}

function parse(name: string, command: Command, args: readonly string[]): Given & { help: boolean } {
  const options: Options = { ...COMMON, ...command.options };
  const misuse = (problem: string) => new UsageError(problem, `see: platform-auth ${name} --help`);
  // What is wrong is found here: the parser tells it in a sentence only.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option === undefined) throw misuse(unknownOption(name, token.name, Object.keys(options)));
    const { rawName, value, inlineValue } = token;
    if (option.type === "boolean" && value !== undefined) {
      throw misuse(`${rawName} takes no value`);
    }
    const isLeftOut = value === undefined || (value === "" && !option.mayBeEmpty) ||
      (!inlineValue && /^-./.test(value));
    if (option.type === "string" && isLeftOut) throw misuse(`${rawName} takes a value`);
  }
  const { word, either = [] } = command;
  const least = word?.required ? 1 : 0;
  const most = word === undefined ? 0 : 1;
  const { json, help, "env-file": envFile, ...own } = values;
  if (!help && (positionals.length < least || positionals.length > most)) {
    const takes = word === undefined ? "no words beside its options" : `one ${word.name}`;
    throw misuse(`${name} takes ${takes}`);
  }
  for (const [one, other] of help ? [] : either) {
    if (values[one] !== undefined && values[other] !== undefined) {
      throw misuse(`${name} takes either --${one} or --${other}`);
    }
  }
  return {
    options: own as Given["options"],
    word: positionals[0],
    json: json === true,
    help: help === true,
    envFile: typeof envFile === "string" ? envFile : undefined,
  };
}

/** A word that is near to no option may be a secret in the wrong place, and is not quoted. */
function unknownOption(name: string, given: string, known: readonly string[]): string {
  const meant = closest(given, known);
  return meant === undefined
    ? `${name} has no such option; it takes ${known.map((each) => `--${each}`).join(", ")}`
    : `${name} has no option --${given} (did you mean --${meant}?)`;
}

async function unknownCommand(given: string): Promise<UsageError> {
  if (given.startsWith("-")) {
    const alone = closest(given, ["--help", "--version"]);
    return alone === undefined
      ? new UsageError("Put options after the command, as in: platform-auth status --json")
      : new UsageError(
        `There is no such option (did you mean ${alone}?)`,
        "see: platform-auth --help",
      );
  }
  const plain = given.toLowerCase().replaceAll(/[-_]/g, "");
  // The way to it is an option, which "did you mean" cannot name.
  if (["download", "save", "wget"].includes(plain)) {
    return new UsageError(
      "There is no such command: fetch saves a file with --output",
      "as in: platform-auth fetch /v1/file.csv --output file.csv",
    );
  }
  const commands = [...await allCommands()];
  const meant = commands.find(([, { synonyms }]) => synonyms?.includes(plain))?.[0] ??
    closest(plain, [...commands.map(([name]) => name), "help"]);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return new UsageError(`There is no such command${hint}`, "see: platform-auth --help");
}
