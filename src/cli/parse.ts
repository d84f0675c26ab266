import { parseArgs } from "node:util";
import { type Command, type Given, GLOBAL, type Option, type Options } from "./command.ts";
import { UsageError } from "./output.ts";
import { closest } from "../errors/closest.ts";

/**
 * Splits a command line at the name of the command. Options that all commands take may precede the
 * name.
 */
export function splitAtName(args: readonly string[]): [name: string | undefined, rest: string[]] {
  const at = parsed(args, GLOBAL).tokens.find(({ kind }) => kind === "positional")?.index;
  return [args[at ?? args.length], args.filter((_, each) => each !== at)];
}

/** The arguments of a command, including the options that `run.ts` handles for all commands. */
export interface Parsed extends Given {
  readonly help: boolean;
  readonly version: boolean;
  readonly verbose: boolean;
}

/**
 * Parses the arguments of a command.
 *
 * @param name The name for messages: `platform-auth`, or `platform-auth` and the command.
 * @throws {UsageError} If the command does not accept the arguments.
 */
export function parse(
  name: string,
  { word, options: own, either = [] }: Pick<Command, "word" | "options" | "either">,
  args: readonly string[],
): Parsed {
  const misuse = (problem: string) => new UsageError(problem, `see: ${name} --help`);
  const options = { ...GLOBAL, ...own };
  const { values, positionals, tokens } = parsed(args, options);
  for (const token of tokens) {
    const problem = token.kind === "option" && usageProblem(token, options);
    if (problem) throw misuse(problem);
  }
  const { json, help, version, verbose, "env-file": envFile, ...others } = values;
  const [first, ...further] = positionals;
  const given = {
    options: others,
    word: first,
    json: json === true,
    help: help === true,
    version: version === true,
    verbose: verbose === true,
    envFile: typeof envFile === "string" ? envFile : undefined,
  };
  if (help || version) return given;
  if (first !== undefined && word === undefined) {
    throw misuse(`${name} takes options but no positional arguments`);
  }
  const { choices } = word ?? {};
  if (further.length > 0 || (first !== undefined && choices?.includes(first) === false)) {
    throw misuse(`${name} takes one ${word?.name}${choices ? `: ${oneOf(choices)}` : ""}`);
  }
  for (const [one, other] of either) {
    if (values[one] !== undefined && values[other] !== undefined) {
      throw misuse(`${name} takes either --${one} or --${other}`);
    }
  }
  return given;
}

/**
 * Parses without strict mode, because the runtime's errors may quote a secret. The caller checks
 * the tokens and makes the messages.
 */
function parsed(args: readonly string[], options: Options) {
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

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function usageProblem(
  { name, rawName, value, inlineValue }: OptionToken,
  options: Options,
): string | undefined {
  const option: Option | undefined = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) {
    const names = Object.keys(options);
    // `--with-token` is an option of other programs.
    const meant = name === "with-token" && names.includes("portal")
      ? "portal --stdin"
      : closest(name, names) ?? names.find((each) => name.length > 2 && each.startsWith(name));
    return noSuch("option", rawName, meant && `--${meant}`);
  }
  if (option.value === undefined) {
    return value === undefined ? undefined : `${rawName} takes no value`;
  }
  const isMissing = value === undefined || (value === "" && !option.mayBeEmpty) ||
    (!inlineValue && LOOKS_LIKE_AN_OPTION.test(value));
  if (isMissing) return `${rawName} takes a value`;
  return option.choices?.includes(value) === false
    ? `${rawName} takes ${oneOf(option.choices)}`
    : undefined;
}

/**
 * Matches a value that is probably the next option, such as `--json` or `-o`. Other values may
 * begin with a dash, too, such as a list or a negative number in the body of a call.
 */
const LOOKS_LIKE_AN_OPTION = /^-(?:[a-z]|-[a-z][a-z-]*(?:=.*)?)$/i;

/**
 * Matches a short name. Messages repeat only such a name: any other text may be a secret that the
 * user passed by mistake.
 */
const NAME = /^-{0,2}(?=.{1,20}$)[a-z]+(-[a-z]+)*$/i;

/** Says that an option or a command does not exist. */
export function noSuch(what: string, given: string, meant: string | undefined): string {
  if (meant !== undefined) return `There is no ${what} ${given} (did you mean ${meant}?)`;
  return NAME.test(given) ? `There is no ${what} ${given}` : `There is no such ${what}`;
}

function oneOf(choices: readonly string[]): string {
  return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}
