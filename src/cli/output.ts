import type { Diagnosis } from "../show/diagnosis.ts";
import type { Downloads } from "../api/download_all.ts";
import { ApiError, AuthError, CODES } from "../errors/errors.ts";
import type { FrontEnd } from "../errors/advice.ts";
import type { NoticeCode } from "../session/notices.ts";
import type { SessionStatus } from "../session/status.ts";
import { isDumbTerminal, terminalColumns } from "../platform/terminal.ts";
import { jsonText, printable } from "../errors/escape.ts";
import { wrapped } from "../errors/lines.ts";

/** The exit statuses. */
export const OK = 0;
export const FAILED = 1;
const USAGE = 2;
const LOGIN_NEEDED = 3;

/** What went wrong on the command line itself, and what to do. */
export class CommandLineError extends Error {
  constructor(override readonly name: string, readonly problem: string, readonly fix?: string) {
    super(fix === undefined ? problem : `${problem}; ${fix}`);
  }
}

/** A misuse of the command line. */
export class UsageError extends CommandLineError {
  constructor(problem: string, fix?: string) {
    super("UsageError", problem, fix);
  }
}

/** Standard output takes no more, such as on a full disk. */
class OutputError extends CommandLineError {
  constructor(reason: string) {
    super("OutputError", `Cannot write to standard output: ${reason}`, "write to another place");
  }
}

/** Prints a line. @throws {OutputError} If it cannot be written. */
export async function print(line: string): Promise<void> {
  await writeOut(new TextEncoder().encode(`${line}\n`));
}

/** Prints a value as JSON. */
export async function printJson(value: unknown): Promise<void> {
  await print(jsonText(value, 2));
}

/** Prints a status. @returns The exit status that it stands for. */
export async function printStatus(found: SessionStatus, json: boolean): Promise<number> {
  if (json) await printJson(found);
  else await printText(Deno.inspect(found));
  return needsLogin(found) ? LOGIN_NEEDED : OK;
}

/** Whether only a login helps. */
export function needsLogin({ canRefresh, state }: SessionStatus): boolean {
  return !canRefresh && ["none", "expired", "rejected"].includes(state);
}

/** The notices of a save that failed, to a file and to a store. */
const NOT_KEPT: readonly NoticeCode[] = ["NOT_SAVED", "STORE_AWAY"];

/** Prints the status of a session that other commands must find: this one's memory ends with it. */
export async function printKept(found: SessionStatus, json: boolean): Promise<number> {
  const isKept = !found.notices.some(({ code }) => NOT_KEPT.includes(code));
  // Before the green mark of a login that went well.
  if (!isKept) say("The session was not saved, so no other command finds it; see the warning");
  const shown = await printStatus(found, json);
  return isKept ? shown : FAILED;
}

/**
 * Writes to standard output.
 *
 * @returns Whether somebody still reads it: `head`, for example, goes away when it has seen enough.
 * @throws {OutputError} If it cannot be written.
 */
export async function writeOut(bytes: Uint8Array): Promise<boolean> {
  try {
    for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    const reason = error instanceof Error ? error.message.replace(/ \(os error.*/, "") : "";
    throw new OutputError(reason);
  }
}

/** Prints a sentence to standard error, beside the answer. */
export function say(sentence: string): void {
  printError(errorLine(`platform-auth: ${printable(sentence)}`));
}

/** A line of standard error, broken at words where the terminal would break it within them. */
export function errorLine(line: string): string {
  return Deno.stderr.isTerminal() ? fitted(line) : line;
}

function printError(line: string): void {
  try {
    console.error(line);
  } catch {
    // There is nobody else to tell.
  }
}

/** `login --portal` was run, and nobody could be asked. */
const PIPED =
  "platform-auth login --portal in a terminal, or pipe the portal's string to it with --stdin";

/** The commands that do what the library says to call. */
export const TERMINAL: FrontEnd = {
  call(call) {
    const options = call.call === "login" ? call.options : undefined;
    if (options?.portalToken) return PIPED;
    if (options?.strategy) return `platform-auth login --${options.strategy}`;
    if (options?.force) return "platform-auth login --force";
    return `platform-auth ${call.call}`;
  },
  inProgram: ({ inTerminal = "" }) => inTerminal,
};

const GREEN = 32;
const YELLOW = 33;
const RED = 31;
const COLORS: Readonly<Record<string, number>> = {
  "●": GREEN,
  "✓": GREEN,
  "◐": YELLOW,
  "!": YELLOW,
  "○": RED,
  "✗": RED,
};

/**
 * Prints lines for people. On a terminal the marks before them are in color, and long lines are broken
 * at words.
 */
export async function printText(text: string): Promise<void> {
  if (!Deno.stdout.isTerminal()) return await print(text);
  await print(text.split("\n").map((line) => inColor(fitted(line))).join("\n"));
}

/** A line with its mark in color. */
function inColor(line: string): string {
  const isPlain = Deno.noColor || isDumbTerminal();
  return isPlain ? line : line.replace(
    /^( *)(\S)(?= )/,
    (start, indent, mark) =>
      COLORS[mark] === undefined ? start : `${indent}\u001b[${COLORS[mark]}m${mark}\u001b[0m`,
  );
}

/** A line broken at words, where the terminal would break it within them. */
function fitted(line: string): string {
  const indent = " ".repeat(line.length - line.trimStart().length + 2);
  return wrapped(line, indent, terminalColumns());
}

/** Prints what a doctor found. */
export async function printDiagnosis(diagnosis: Diagnosis): Promise<void> {
  await printText(Deno.inspect(diagnosis));
}

/** Prints what came of many downloads. */
export async function printDownloads(downloads: Downloads): Promise<void> {
  await printText(Deno.inspect(downloads));
}

/** Says what the user should know. Standard output belongs to the answer. */
export function warn({ warnings }: SessionStatus): void {
  for (const warning of warnings) say(`warning: ${warning}`);
}

/** An error as JSON has it. */
export function factsOf(error: Error): Record<string, string | undefined> {
  const { name, message } = error;
  const { problem, fix } = isOurs(error) ? error : {};
  const code = error instanceof AuthError ? error.code : undefined;
  return { name, code, problem, fix, message };
}

/** Says what went wrong. @returns The exit status. */
export function report(error: unknown, json: boolean): number {
  if (!isOurs(error) && !(error instanceof TypeError)) throw error;
  if (json) printError(jsonText({ error: factsOf(error) }));
  else say(error.message);
  if (error instanceof UsageError) return USAGE;
  const isOver = error instanceof AuthError &&
    ["SessionExpiredError", "ChallengeError"].includes(CODES[error.code]);
  const isRefused = error instanceof ApiError && error.status === 401;
  return isOver || isRefused ? LOGIN_NEEDED : FAILED;
}

function isOurs(error: unknown): error is AuthError | CommandLineError {
  return error instanceof AuthError || error instanceof CommandLineError;
}
