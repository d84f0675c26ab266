import type { Answer } from "./command.ts";
import {
  ApiError,
  AuthError,
  CODES,
  ConfigError,
  isMisuse,
  type ProviderErrorCode,
  throwIfBug,
} from "../errors/errors.ts";
import { systemWords } from "../errors/cause.ts";
import { isDumbTerminal, terminalColumns } from "../platform/terminal.ts";
import { jsonText, printable } from "../errors/escape.ts";
import { wrapped } from "../errors/lines.ts";

export const FAILED = 1;
const USAGE = 2;
/** The status of a program that Ctrl-C ends. */
const CANCELED = 130;
export const LOGIN_NEEDED = 3;

/** Wrong arguments. */
export class UsageError extends TypeError {
  override readonly name = "UsageError";

  constructor(readonly problem: string, readonly fix: string) {
    super(`${problem}; ${fix}`);
  }

  toJSON(): object {
    const { name, problem, fix } = this;
    return { name, problem, fix };
  }
}

/**
 * Prints the result of a command, as JSON or as text.
 *
 * @returns The exit status.
 * @throws {ConfigError} `FILE` if standard output cannot be written.
 */
export async function printAnswer(
  { value, text, status = 0 }: Answer,
  json: boolean,
): Promise<number> {
  if (json && value !== undefined) await print(jsonText(value, 2));
  else if (text !== undefined) await print(Deno.stdout.isTerminal() ? forTerminal(text) : text);
  return status;
}

/**
 * Prints a line.
 * @throws {ConfigError} `FILE` if standard output cannot be written.
 */
export async function print(line: string): Promise<void> {
  await writeOut(new TextEncoder().encode(`${line}\n`));
}

/**
 * Writes to standard output.
 *
 * @returns Whether the reader still accepts output. `head`, for example, stops reading early.
 * @throws {ConfigError} `FILE` if standard output cannot be written.
 */
export async function writeOut(bytes: Uint8Array): Promise<boolean> {
  try {
    for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throwIfBug(error);
    const problem = `Cannot write to standard output: ${systemWords(error)}`;
    throw new ConfigError("FILE", problem, "write the output to another file or program", error);
  }
}

/** Prints a sentence to standard error, so that standard output contains only the result. */
export function say(sentence: string): void {
  const line = `platform-auth: ${printable(sentence)}`;
  // A terminal would break long lines within words, so this function wraps them at spaces.
  printError(Deno.stderr.isTerminal() ? fitted(line) : line);
}

/**
 * Prints an error to standard error.
 *
 * @param isTyped Whether the password came through `--stdin`. The next password may then be right.
 * @returns The exit status.
 */
export function report(error: unknown, json: boolean, isTyped = false): number {
  // Any other error is a bug. It is thrown, so that the runtime prints its stack.
  if (!(error instanceof AuthError || error instanceof UsageError || isMisuse(error))) throw error;
  // The user canceled a prompt, so no message is needed.
  if (error instanceof AuthError && error.code === "INTERRUPTED") return CANCELED;
  if (json) printError(jsonText({ error: asJson(error) }));
  else say(error.message);
  if (!("code" in error)) return USAGE;
  const isOver = error instanceof AuthError &&
    ["SessionExpiredError", "ChallengeError"].includes(CODES[error.code]);
  const isRefused = error instanceof ApiError && error.code === "API_STATUS" &&
    error.status === 401 && error.hadToken;
  // A job must not send a refused password again at each run, which would lock the account.
  const isHopeless = ACCOUNT_REFUSED.has(error.code) && !isTyped;
  return isOver || isRefused || isHopeless ? LOGIN_NEEDED : FAILED;
}

/** Codes for which the same user name and password fail again until a person acts. */
const ACCOUNT_REFUSED: ReadonlySet<string> = new Set<ProviderErrorCode>([
  "INVALID_CREDENTIALS",
  "PASSWORD_RESET_REQUIRED",
  "USER_DISABLED",
  "USER_NOT_CONFIRMED",
]);

/** Returns an error for `--json`. Errors of the runtime have no `toJSON()`. */
export function asJson(error: Error): object {
  return "toJSON" in error ? error : { name: error.name, message: error.message };
}

/** Prints the warnings of a session. */
export function warn({ warnings }: { readonly warnings: readonly string[] }): void {
  for (const warning of warnings) say(`warning: ${warning}`);
}

function printError(line: string): void {
  try {
    console.error(line);
  } catch {
    // The failure cannot be reported anywhere else.
  }
}

/** The terminal color of each mark: 32 is green, 33 is yellow, 31 is red. */
const COLORS: Readonly<Record<string, number>> = {
  "●": 32,
  "✓": 32,
  "◐": 33,
  "!": 33,
  "○": 31,
  "✗": 31,
};

/** Wraps long lines and colors the marks. */
function forTerminal(text: string): string {
  const lines = text.split("\n").map(fitted).join("\n");
  if (Deno.noColor || isDumbTerminal()) return lines;
  return lines.replace(/^( *)(\S)(?= )/gm, (start, indent, mark) => {
    const color = COLORS[mark];
    return color === undefined ? start : `${indent}\u001b[${color}m${mark}\u001b[0m`;
  });
}

function fitted(line: string): string {
  const indent = " ".repeat(line.length - line.trimStart().length + 2);
  // Wrapping would collapse the spaces between columns, so a line that fits is not wrapped.
  return line.length <= terminalColumns() ? line : wrapped(line, indent, terminalColumns());
}
