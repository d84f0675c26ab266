/**
 * What a message tells its reader to call. The library and the command line put it into words of their
 * own.
 */
export type Call =
  | {
    readonly call: "login";
    readonly options?: {
      readonly force?: true;
      readonly strategy?: "portal";
      /** With the string that the portal's "Copy Token" gives. */
      readonly portalToken?: true;
    };
  }
  | { readonly call: "logout" };

/** A part of a fix that only a program can do; the command line leaves it out or says something else. */
export interface InProgram {
  readonly inProgram: string;
  readonly inTerminal?: string;
}

/** What to do next: a text, or parts of which some depend on who reads it. */
export type Fix = string | readonly (string | Call | InProgram)[];

/** A problem and its fix, before they become an error or a notice. */
export interface Advice<Code extends string = string> {
  readonly code?: Code;
  /** What was tried, and why it failed. */
  readonly problem: string;
  /** What to do next. */
  readonly fix?: Fix | undefined;
}

/** How a front end puts calls into words. */
export interface Words {
  call(call: Call): string;
  inProgram(part: InProgram): string;
}

/** The words of a program or a notebook. */
const LIBRARY: Words = {
  call: (call) => {
    const options = call.call === "login" ? call.options : undefined;
    if (options?.portalToken) return "login({ portalToken }) with the string from the portal";
    if (options?.strategy) return `login({ strategy: "${options.strategy}" })`;
    if (options?.force) return "login({ force: true })";
    return `${call.call}()`;
  },
  inProgram: (part) => part.inProgram,
};

let words: Words = LIBRARY;

/**
 * Puts all that is said from now on into the words of another front end, as the command line does at
 * its start.
 */
export function speakIn(others: Words): void {
  words = others;
}

/** A fix in the words of the front end of this process. */
export function fixText(fix: Fix): string {
  if (typeof fix === "string") return fix;
  return fix.map((part) => {
    if (typeof part === "string") return part;
    return "call" in part ? words.call(part) : words.inProgram(part);
  }).join("");
}
