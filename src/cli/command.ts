/**
 * The description of a command. `commands.ts` describes all commands in one table, which parsing,
 * help, completion and the "did you mean" hints use. Each file in `commands/` runs the commands of
 * one kind. Files in this folder may import anything, but only `commands/sandbox.ts` imports the
 * sandbox.
 */

/** An option of a command. */
export interface Option {
  /** The letter of the option, as in `-o`. */
  readonly short?: string;
  /**
   * The placeholder for the value in the help, such as `<file>`. An option without a placeholder
   * takes no value.
   */
  readonly value?: string;
  /** The permitted values. */
  readonly choices?: readonly string[];
  /** Whether the option may be given several times. */
  readonly multiple?: true;
  /**
   * Whether the value may be empty. For all other options, an empty value is an error: it usually
   * comes from an unset shell variable.
   */
  readonly mayBeEmpty?: true;
  /** The description in the help. May have several lines. */
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
  /** The `.env` specified on the command line. `run.ts` has already passed it to the session. */
  readonly envFile: string | undefined;
}

/** The result of a command. */
export interface Answer {
  /** The value that `--json` prints. */
  readonly value?: unknown;
  /**
   * The text that is printed without `--json`. With `--json`, it is printed if there is no value.
   */
  readonly text?: string;
  /** The exit status. Default: 0. */
  readonly status?: number;
}

/** A command of the command line. */
export interface Command {
  /** The line in the list of all commands. */
  readonly summary: string;
  /** The description in the help of this command. */
  readonly description: string;
  /** The positional argument. If missing, the command takes only options. */
  readonly word?: Word;
  readonly options: Options;
  /** Options that exclude each other. */
  readonly either?: readonly (readonly [one: string, other: string])[];
  readonly examples: readonly string[];
  /** Loads the file that runs the command. */
  load(): Promise<{ run(given: Given): Answer | Promise<Answer> }>;
}

/** Options that all commands take, before or after the command. */
export const GLOBAL = {
  "env-file": {
    value: "<path>",
    help: 'the .env to use instead of the nearest one; "false"\nkeeps the session in memory',
  },
  json: { help: "print the result as JSON, if the command has one" },
  help: { short: "h", help: "print this text" },
  version: { short: "V", help: "print the version, and the address of the program" },
  verbose: {
    help: "also print to standard error what the command does:\nsettings, refreshes, requests",
  },
} as const satisfies Options;

type Text<It extends Option> = It extends { choices: readonly (infer Choice)[] } ? Choice : string;
type Value<It extends Option> = It extends { value: string }
  ? It extends { multiple: true } ? readonly string[] : Text<It>
  : boolean;
type Values<Own extends Options> = { readonly [Name in keyof Own]: Value<Own[Name]> };

/**
 * Returns the description of a command unchanged. The types make the compiler check that the
 * command's file accepts the options in the description.
 */
export function command<const Own extends Options>(
  described: Omit<Command, "options" | "load"> & {
    readonly options: Own;
    readonly load: () => Promise<{
      readonly run: (given: Given<Values<Own>>) => Answer | Promise<Answer>;
    }>;
  },
): Command {
  return described;
}
