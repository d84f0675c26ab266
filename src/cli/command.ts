/**
 * What a command is. `commands.ts` describes all of them in one table, from which parsing, help, "did you
 * mean" and completion follow; what a command does is in its file in `commands/`. May import everything
 * but the sandbox, which one command starts.
 */

/** An option of a command. */
export interface Option {
  /** Its letter, as in `-o`. */
  readonly short?: string;
  /** What its value is, for the help, such as `<file>`. Without it the option takes no value. */
  readonly value?: string;
  /** The only values that it takes. */
  readonly choices?: readonly string[];
  /** May be given several times. */
  readonly multiple?: true;
  /** Whether an empty text is a value. Elsewhere it comes from an unset variable of the shell. */
  readonly mayBeEmpty?: true;
  /** For the help. Further lines are printed below the first. */
  readonly help: string;
}

/** Options by their names. */
export type Options = Readonly<Record<string, Option>>;

/** The positional argument of a command. */
export interface Word {
  readonly name: string;
  readonly choices?: readonly string[];
}

/** The parsed arguments of a command. */
export interface Given<Values = Readonly<Record<string, unknown>>> {
  /** The command's own options. */
  readonly options: { readonly [Name in keyof Values]: Values[Name] | undefined };
  /** The positional argument. */
  readonly word: string | undefined;
  readonly json: boolean;
  /** The `.env` that the command line names. It is in effect already. */
  readonly envFile: string | undefined;
}

/** The result of a command. */
export interface Answer {
  /** What `--json` prints. */
  readonly value?: unknown;
  /** What is printed otherwise, and where there is no value. */
  readonly text?: string;
  /** The exit status. Default: 0. */
  readonly status?: number;
}

/** A command of the command line. */
export interface Command {
  /** Its line in the list of all commands. */
  readonly summary: string;
  /** For its own help. */
  readonly description: string;
  /** Without it the command takes no positional argument. */
  readonly word?: Word;
  readonly options: Options;
  /** Options that exclude each other. */
  readonly either?: readonly (readonly [one: string, other: string])[];
  readonly examples: readonly string[];
  /** Loads the file of the command. */
  load(): Promise<{ run(given: Given): Promise<Answer> }>;
}

/** Options that all commands take, before or after the command. */
export const GLOBAL = {
  "env-file": {
    value: "<path>",
    help: 'the .env to use instead of the nearest one ("false":\nmemory only)',
  },
  json: { help: "print JSON, if the command has something to read" },
  help: { short: "h", help: "print this text" },
  version: { short: "V", help: "print the version, and where it runs from" },
} as const satisfies Options;

type Text<It extends Option> = It extends { choices: readonly (infer Choice)[] } ? Choice : string;
type Value<It extends Option> = It extends { value: string }
  ? It extends { multiple: true } ? readonly string[] : Text<It>
  : boolean;
type Values<Own extends Options> = { readonly [Name in keyof Own]: Value<Own[Name]> };

/** Checks that the file of a command takes the options that the table describes. */
export function command<const Own extends Options>(
  described: Omit<Command, "options" | "load"> & {
    readonly options: Own;
    readonly load: () => Promise<{ readonly run: (given: Given<Values<Own>>) => Promise<Answer> }>;
  },
): Command {
  return described;
}
