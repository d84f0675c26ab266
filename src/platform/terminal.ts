import { AuthError } from "../errors/errors.ts";
import { environment } from "./environment.ts";

/** Whether the terminal shows escape sequences as text, like the terminal in Emacs. */
export function isDumbTerminal(): boolean {
  return environment("TERM") === "dumb";
}

/** Width of the terminal in characters; `Infinity` if unknown. */
export function terminalColumns(): number {
  try {
    // Some terminals report 0, which means that the width is unknown.
    return Deno.consoleSize().columns || Infinity;
  } catch {
    return Infinity;
  }
}

/**
 * Prompts in the terminal, with visible input.
 * @throws {AuthError} `INTERRUPTED` if the user pressed Ctrl-C or Ctrl-D, for which `prompt()`
 * returns `null`.
 */
export function readVisible(question: string): string {
  const answer = prompt(question);
  if (answer === null) throw promptCanceled();
  return answer;
}

/** The error for a prompt that the user canceled in the terminal. */
export function promptCanceled(): AuthError {
  return new AuthError(
    "INTERRUPTED",
    "Stopped: the prompt was canceled, so nothing more is sent or written",
    "run the same command or call again",
  );
}
