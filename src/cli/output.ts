import type { Diagnosis } from "../display/diagnosis.ts";
import { AuthError, SessionExpiredError } from "../errors/errors.ts";
import type { SessionStatus } from "../session/status.ts";
import { ChallengeError } from "../session/challenges/challenge.ts";
import { jsonText, printable } from "../values/wording.ts";

/** The exit statuses. */
export const OK = 0;
export const FAILED = 1;
const USAGE = 2;
export const LOGIN_NEEDED = 3;

/** A misuse of the command line. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Standard output takes no more, such as on a full disk. */
class OutputError extends Error {
  override name = "OutputError";
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
export async function printStatus(
  found: SessionStatus,
  json: boolean,
  always?: number,
): Promise<number> {
  if (json) await printJson(found);
  else {
    const { statusText } = await import("../display/status_text.ts");
    await print(colored(asCommands(statusText(found))));
  }
  const over = !found.canRefresh && ["none", "expired", "rejected"].includes(found.state);
  return always ?? (over ? LOGIN_NEEDED : OK);
}

/** The warnings of a save that failed, to a file and to a store. */
const NOT_KEPT = /^the session is kept in memory only|until then the tokens in memory count$/;

/** Prints the status of a session that other commands must find: this one's memory ends with it. */
export async function printKept(found: SessionStatus, json: boolean): Promise<number> {
  const shown = await printStatus(found, json);
  if (!found.warnings.some((warning) => NOT_KEPT.test(warning))) return shown;
  say("The session was not saved, so no other command finds it; see the warning");
  return FAILED;
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
    throw new OutputError(`Cannot write to standard output: ${reason}; write to another place`);
  }
}

/** Prints a sentence to standard error, beside the answer. */
export function say(sentence: string): void {
  printError(`platform-auth: ${printable(asCommands(sentence))}`);
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

/** What the library says to call, as the command that does it. */
export function asCommands(text: string): string {
  return text.replaceAll("login({ portalToken }) with the string from the portal", PIPED)
    .replaceAll('login({ strategy: "portal" })', "platform-auth login --portal")
    .replaceAll("login({ force: true })", "platform-auth login --force")
    .replaceAll("login()", "platform-auth login")
    // What only a program can do.
    .replace(
      /(, in a notebook or a terminal)?, or answer with onChallenge.*?(?= \(help: |$)/gm,
      (_, where) => where === undefined ? "" : ", in a terminal",
    );
}

/** Colors the marks at the line starts, on a terminal only. */
export function colored(text: string): string {
  if (Deno.noColor || !Deno.stdout.isTerminal()) return text;
  const codes: Record<string, number> = { "●": 32, "✓": 32, "◐": 33, "!": 33, "○": 31, "✗": 31 };
  return text.replace(
    /^(\s*)([●✓◐!○✗])/gm,
    (_, space, mark) => `${space}\u001b[${codes[mark]}m${mark}\u001b[0m`,
  );
}

/** Prints what a doctor found. */
export async function printDiagnosis(diagnosis: Diagnosis): Promise<void> {
  const { diagnosisText } = await import("../display/status_text.ts");
  await print(colored(asCommands(diagnosisText(diagnosis))));
}

/** Says what went wrong. @returns The exit status. */
export function report(error: unknown, json: boolean): number {
  const known = error instanceof AuthError || error instanceof UsageError ||
    error instanceof OutputError || error instanceof TypeError;
  if (!known) throw error;
  const code = error instanceof AuthError ? error.code : undefined;
  const { name, message } = error;
  if (json) printError(jsonText({ error: { name, ...(code && { code }), message } }));
  else say(message);
  if (error instanceof UsageError) return USAGE;
  const needed = error instanceof SessionExpiredError || error instanceof ChallengeError;
  return needed ? LOGIN_NEEDED : FAILED;
}
