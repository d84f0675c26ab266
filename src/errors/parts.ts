import { causeOf } from "./cause.ts";
import { type AuthErrorCode, CODES } from "./codes.ts";
import { printable } from "./escape.ts";
import { inKernel } from "./advice.ts";

/** The parts of an error's message. */
export interface Parts {
  readonly code: AuthErrorCode;
  readonly problem: string;
  readonly fix: string;
}

/** Returns the message of an error: problem, fix, and where to read more. */
export function messageOf({ code, problem, fix }: Parts): string {
  return printable(`${sentenceOf({ problem, fix })} (${helpOn(code)})`);
}

/** Joins the problem and the fix of an error or a notice. */
export function sentenceOf(
  { problem, fix = "" }: { readonly problem: string; readonly fix?: string },
): string {
  return fix === "" ? problem : `${problem}; ${fix}`;
}

/** Says where to read more. The command works offline and in any folder, but not in a notebook. */
export function helpOn(code: AuthErrorCode): string {
  return `help: ${
    inKernel() ? `${code} in docs/troubleshooting.md` : `platform-auth explain ${code}`
  }`;
}

/**
 * Adds name, problem, fix and cause. Name and message already show them, so they are not
 * enumerable.
 */
export function addParts(error: Error, { code, problem, fix }: Parts, cause: unknown): void {
  const parts = { name: CODES[code], problem: printable(problem), fix: printable(fix) };
  for (const [name, value] of Object.entries({ ...parts, cause: causeOf(cause) })) {
    if (value !== undefined) Object.defineProperty(error, name, { value });
  }
}

/** Returns an error as data: its parts, the fields of its class, and its cause. */
export function jsonOf(error: Error & Parts): Record<string, unknown> {
  const { name, code, problem, fix, cause } = error;
  return { name, code, problem, fix, ...Object.fromEntries(Object.entries(error)), cause };
}
