import { environment } from "./environment.ts";

/** Whether the terminal shows escape sequences as text, as that of Emacs does. */
export function isDumbTerminal(): boolean {
  return environment("TERM") === "dumb";
}

/** How wide the terminal is, in characters; `Infinity` where it does not tell. */
export function terminalColumns(): number {
  try {
    // Some say 0.
    return Deno.consoleSize().columns || Infinity;
  } catch {
    return Infinity;
  }
}
