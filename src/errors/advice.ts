/** A login that a fix recommends. The command line shows it as a command. */
export interface Call {
  readonly call: "login";
  readonly options?: { readonly force?: true; readonly strategy?: "portal" };
}

/**
 * A part of a fix that makes sense only in a program. The command line shows `inTerminal` instead,
 * or nothing if `inTerminal` is missing.
 */
export interface InProgram {
  readonly inProgram: string;
  readonly inTerminal?: string;
}

/** The next step for the user. Some parts of a fix depend on the front end. */
export type Fix = string | readonly (string | Call | InProgram)[];

/** A problem and its fix, before they become an error or a notice. */
export interface Advice<Code extends string = string> {
  readonly code?: Code;
  /** The failed attempt, and why it failed. */
  readonly problem: string;
  /** The next step for the user. */
  readonly fix?: Fix | undefined;
}

/** How a front end writes the parts of a fix. */
export interface FrontEnd {
  call(call: Call): string;
  inProgram(part: InProgram): string;
}

const PROGRAM: FrontEnd = {
  call: ({ options }) => {
    if (options?.strategy) return `login({ strategy: "${options.strategy}" })`;
    return options?.force ? "login({ force: true })" : "login()";
  },
  inProgram: (part) => part.inProgram,
};

let frontEnd = PROGRAM;

/** Sets the front end of this process, as the command line does when it starts. */
export function setFrontEnd(other: FrontEnd): void {
  frontEnd = other;
}

/** Returns a fix as text for the front end of this process. */
export function fixText(fix: Fix): string {
  if (typeof fix === "string") return fix;
  return fix.map((part) => {
    if (typeof part === "string") return part;
    return "call" in part ? frontEnd.call(part) : frontEnd.inProgram(part);
  }).join("");
}

/**
 * Returns the advice with the command `platform-auth`; in a notebook without the command, the other
 * advice.
 */
export function commandOr(withCommand: string, otherwise: string): string {
  return !inKernel() || isInstalled() ? withCommand : otherwise;
}

/** Whether the search path of this process contains the command. */
function isInstalled(): boolean {
  const [separator, endings] = Deno.build.os === "windows"
    ? [";", [".cmd", ".exe"]] as const
    : [":", [""]] as const;
  const files = (Deno.env.get("PATH") ?? "").split(separator)
    .flatMap((folder) => endings.map((ending) => `${folder}/platform-auth${ending}`));
  return files.some((file) => {
    try {
      return Deno.statSync(file).isFile;
    } catch {
      return false;
    }
  });
}

let kernel: boolean | undefined;

/**
 * Whether the code runs in a notebook kernel. Outside a kernel, reading `Deno.jupyter` throws. The
 * result is cached, so that this happens only once.
 */
export function inKernel(): boolean {
  return kernel ??= hasKernel();
}

function hasKernel(): boolean {
  try {
    return typeof Deno.jupyter?.display === "function";
  } catch {
    return false;
  }
}
