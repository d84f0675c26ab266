import { commandOr } from "./advice.ts";
import { causeOf } from "./cause.ts";
import { type AuthErrorCode, CODES } from "./codes.ts";
import { printable } from "./escape.ts";

/** The parts of an error's message. */
export interface Parts {
  readonly code: AuthErrorCode;
  readonly problem: string;
  readonly fix: string;
  /**
   * The entry of `platform-auth explain` to name instead of the code: the status of the API's
   * response.
   */
  readonly topic?: string | undefined;
}

/** Returns the message of an error: problem, fix, and where to read more. */
export function messageOf(parts: Parts): string {
  return printable(`${sentenceOf(parts)} (${helpOn(parts)})`);
}

/** Joins the problem and the fix of an error or a notice. */
export function sentenceOf(
  { problem, fix = "" }: { readonly problem: string; readonly fix?: string },
): string {
  return fix === "" ? problem : `${problem}; ${fix}`;
}

/** Names the command, or else the page, that explains an error. The command works offline. */
export function helpOn({ code, topic = code }: Pick<Parts, "code" | "topic">): string {
  return `help: ${
    commandOr(`platform-auth explain ${topic}`, `${topic} in docs/troubleshooting.md`)
  }`;
}

/**
 * Adds name, problem, fix and cause to an error. These properties are not enumerable, so that a
 * printed error does not repeat what its message says.
 */
export function addParts(
  error: Error,
  { code, problem, fix, topic }: Parts,
  cause: unknown,
): void {
  const parts = { name: CODES[code], problem: printable(problem), fix: printable(fix), topic };
  for (const [name, value] of Object.entries({ ...parts, cause: causeOf(cause) })) {
    if (value !== undefined) Object.defineProperty(error, name, { value });
  }
}

/** Returns an error as data: its parts, the fields of its class, and its cause. */
export function jsonOf(error: Error & Parts): Record<string, unknown> {
  const { name, code, problem, fix, cause } = error;
  return { name, code, problem, fix, ...Object.fromEntries(Object.entries(error)), cause };
}
