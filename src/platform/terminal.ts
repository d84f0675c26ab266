import { environment } from "./environment.ts";

/** Whether the terminal shows escape sequences as text, like the one in Emacs. */
export function isDumbTerminal(): boolean {
  return environment("TERM") === "dumb";
}

/** Width of the terminal in characters; `Infinity` if unknown. */
export function terminalColumns(): number {
  try {
    // Some terminals report 0.
    return Deno.consoleSize().columns || Infinity;
  } catch {
    return Infinity;
  }
}
