import { parseArgs } from "node:util";
import { type Command, type Given, GLOBAL, type Options } from "./command.ts";
import { UsageError } from "./failure.ts";
import { closest } from "../errors/closest.ts";

/** The arguments of a command line, split at the name of the command. */
export interface Split {
  readonly name: string | undefined;
  /** All others. */
  readonly rest: readonly string[];
}

/**
 * Finds the command.
 *
 * @throws {UsageError} For an option before it that is not one of all commands.
 */
export function splitAtCommand(args: readonly string[]): Split {
  const { tokens } = tokensOf(args, GLOBAL);
  const at = tokens.find(({ kind }) => kind === "positional")?.index ?? args.length;
  const before = args.slice(0, at);
  const further = "put the options of a command after its name; see: platform-auth --help";
  checkedValues(before, GLOBAL, (problem) => new UsageError(problem, further));
  return { name: args[at], rest: [...before, ...args.slice(at + 1)] };
}

/** The arguments of a command, and whether they ask for its help or the version. */
export interface Parsed extends Given {
  readonly help: boolean;
  readonly version: boolean;
}

/** Parses the arguments of a command. @throws {UsageError} */
export function parse(name: string, command: Command, args: readonly string[]): Parsed {
  const { word, either = [] } = command;
  const misuse = (problem: string) => new UsageError(problem, `see: platform-auth ${name} --help`);
  const options = { ...GLOBAL, ...command.options };
  const { values, words } = checkedValues(args, options, misuse, `${name} has `);
  const { json, help, version, "env-file": envFile, ...own } = values;
  const parsed = {
    options: own,
    word: words[0],
    json: json === true,
    help: help === true,
    version: version === true,
    envFile: typeof envFile === "string" ? envFile : undefined,
  };
  if (help || version) return parsed;
  if (word === undefined && words.length > 0) {
    throw misuse(`${name} takes options but no positional arguments`);
  }
  const isChoice = parsed.word === undefined || word?.choices?.includes(parsed.word) !== false;
  if (words.length > 1 || !isChoice) {
    throw misuse(
      `${name} takes one ${word?.name}${word?.choices ? `: ${oneOf(word.choices)}` : ""}`,
    );
  }
  for (const [one, other] of either) {
    if (values[one] !== undefined && values[other] !== undefined) {
      throw misuse(`${name} takes either --${one} or --${other}`);
    }
  }
  return parsed;
}

/** Strict mode describes a misuse only in a sentence, so the tokens are checked here. */
function tokensOf(args: readonly string[], options: Options) {
  const described = Object.entries(options).map(([name, { value, short, multiple = false }]) => [
    name,
    {
      type: value === undefined ? "boolean" : "string",
      multiple,
      ...(short && { short }),
    } as const,
  ]);
  return parseArgs({
    args: [...args],
    options: Object.fromEntries(described),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
}

function checkedValues(
  args: readonly string[],
  options: Options,
  misuse: (problem: string) => UsageError,
  subject = "There is ",
): { values: Record<string, unknown>; words: string[] } {
  const { values, positionals, tokens } = tokensOf(args, options);
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      const meant = optionMeant(name, Object.keys(options));
      throw misuse(
        subject + unknown("option", rawName, meant === undefined ? undefined : `--${meant}`),
      );
    }
    if (option.value === undefined) {
      if (value !== undefined) throw misuse(`${rawName} takes no value`);
      continue;
    }
    const isLeftOut = value === undefined || (value === "" && !option.mayBeEmpty) ||
      (!inlineValue && /^-./.test(value));
    if (isLeftOut) throw misuse(`${rawName} takes a value`);
    if (option.choices && !option.choices.includes(value)) {
      throw misuse(`${rawName} takes ${oneOf(option.choices)}`);
    }
  }
  return { values, words: positionals };
}

/** A single letter is the first one of a name in most programs. */
function optionMeant(given: string, known: readonly string[]): string | undefined {
  return given.length === 1
    ? known.find((name) => name.startsWith(given.toLowerCase()))
    : closest(given, known);
}

/** Anything but a short name may be a secret in the wrong place, and is not quoted. */
const NAME = /^-{0,2}[a-z]+(?:-[a-z]+)*$/i;
const LONGEST_NAME = 20;

/** Says that there is no such option or command. */
export function unknown(what: string, given: string, meant: string | undefined): string {
  const isName = meant !== undefined || (NAME.test(given) && given.length <= LONGEST_NAME);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return isName ? `no ${what} ${given}${hint}` : `no such ${what}`;
}

function oneOf(choices: readonly string[]): string {
  return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}
