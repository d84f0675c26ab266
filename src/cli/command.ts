/**
 * What a command is. Each has a file in `commands/` and a line in `commands.ts`: help, "did you mean"
 * and the tests follow from these two. May import all but the sandbox, which one command starts.
 */

/** An option of a command. */
export interface Option {
  readonly type: "string" | "boolean";
  /** Its letter, as in `-o`. */
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: true;
  /** Whether an empty text is a value. An unset variable of a shell gives one, and names no file. */
  readonly mayBeEmpty?: true;
  /** What its value is, for the help, such as `<file>`. */
  readonly value?: string;
  /** What it does, for the help. A further line stands below the first. */
  readonly help: string;
}

/** Options by their names. */
export type Options = Readonly<Record<string, Option>>;

type Value<It extends Option> = It extends { type: "boolean" } ? boolean
  : It extends { multiple: true } ? readonly string[]
  : string;

/** What was typed behind the name of a command. */
export interface Given<Own extends Options = Options> {
  /** The command's own options. */
  readonly options: { readonly [Name in keyof Own]?: Value<Own[Name]> };
  /** The word beside the options. */
  readonly word: string | undefined;
  /** The option of all commands: print JSON. */
  readonly json: boolean;
  /** The option of all commands: the `.env` to use. It counts already. */
  readonly envFile: string | undefined;
}

/** A command of the command line. */
export interface Command<Own extends Options = Options> {
  /** Its line in the list of all commands. */
  readonly summary: string;
  /** What other programs call it, in lower case without hyphens: "did you mean" names this command. */
  readonly synonyms?: readonly string[];
  /** What it does, for its own help. */
  readonly description: string;
  /** What its word beside the options is. Default: it takes none. */
  readonly word?: { readonly name: string; readonly required?: true };
  readonly options: Own;
  /** Options that exclude each other. */
  readonly either?: readonly (readonly [one: string, other: string])[];
  readonly examples: readonly string[];
  /** Does it. @returns The exit status. */
  run(given: Given<Own>): Promise<number>;
}

/** A command that reads its own options and prints its own help. */
export interface Program {
  readonly summary: string;
  readonly synonyms?: readonly string[];
  /** Runs it with the words behind its name. @returns The exit status. */
  start(args: readonly string[]): Promise<number>;
}

/** Options that all commands take. */
export const COMMON = {
  "env-file": {
    type: "string",
    value: "<path>",
    help: 'the .env to use instead of the nearest one ("false":\nmemory only)',
  },
  json: { type: "boolean", help: "print JSON, where there is something to read" },
  help: { type: "boolean", short: "h", help: "print this text" },
} as const satisfies Options;

/** Gives a command the types of its own options. */
export function defineCommand<const Own extends Options>(command: Command<Own>): Command<Own> {
  return command;
}
