import { ConfigError } from "../errors/errors.ts";
import { cleanUpAtExit } from "./signals.ts";
import { isDumbTerminal, promptCanceled } from "./terminal.ts";

/**
 * Bracketed paste: after `PASTE_MARKS_ON`, the terminal marks the beginning and the end of pasted
 * text.
 */
const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";
const PASTE_MARKS_ON = "\u001b[?2004h";
const PASTE_MARKS_OFF = "\u001b[?2004l";
/**
 * Matches what a terminal sends for an arrow or function key, or for a key that was pressed together
 * with Alt. `\u001b[[A` is F1 on the Linux console.
 */
// deno-lint-ignore no-control-regex -- the sequences begin with the control character Esc
const SEQUENCE = /^\u001b(?:\[(?:\[[A-E]|[0-?]*[ -/]*[@-~])|O[ -~]?|[^[O\u0003\u0004\u001b])/u;
/** Matches the beginning of such a sequence. */
// deno-lint-ignore no-control-regex -- the sequences begin with the control character Esc
const BEGINNING = /^\u001b\[[0-?]*[ -/]*$/;
/** In raw mode, Ctrl-C is a character and not a signal. */
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const CTRL_U = "\u0015";
const ESCAPE = "\u001b";
const BACKSPACES = ["\u007f", "\b"];
const ENTERS = ["\r", "\n"];
/** The decoder's replacement for bytes that are not UTF-8. */
const BROKEN = "\ufffd";
/**
 * Maximum number of stars. A portal string has a thousand characters; as many stars would fill the
 * screen.
 */
const MAX_STARS = 24;

/**
 * Reads a secret from the terminal and shows a few stars instead. Pasted text of several lines is
 * one answer. Backspace deletes the last character, Ctrl-U the whole text. The terminal is reset
 * even if a signal ends the script.
 *
 * @param options.lines Whether the secret may have several lines. If so, an empty line ends the
 * input. Default `false`.
 * @throws {AuthError} `INTERRUPTED` if the user canceled the prompt with Ctrl-D or Esc. Ctrl-C ends
 * the script.
 * @throws {ConfigError} `PROMPT_UNAVAILABLE` if the terminal does not send UTF-8. A Windows console
 * sends letters such as ä in its own encoding, and the provider would reject the damaged password
 * and count a failed attempt.
 */
export async function readMasked(
  message: string,
  { lines = false }: { lines?: boolean } = {},
): Promise<string> {
  using _ = cleanUpAtExit(restore);
  // Raw mode is set before the prompt appears, so that the terminal does not show text that the
  // user types early.
  Deno.stdin.setRaw(true);
  write(`${message} ${isDumbTerminal() ? "" : PASTE_MARKS_ON}`);
  let text: string | null;
  try {
    text = await readText(lines);
  } finally {
    restore();
  }
  if (text === null) throw promptCanceled();
  if (!text.includes(BROKEN)) return text;
  throw new ConfigError(
    "PROMPT_UNAVAILABLE",
    "Cannot read the answer: the terminal does not send UTF-8, so letters such as ä are lost",
    'on Windows run "chcp 65001" first, or set USERNAME and PASSWORD',
  );
}

/**
 * Reads the text; `null` if the user canceled. Reads asynchronously, because a blocked thread does
 * not handle signals.
 */
async function readText(lines: boolean): Promise<string | null> {
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(4_096);
  let text = "";
  let stars = 0;
  let pending = "";
  while (true) {
    const count = await Deno.stdin.read(bytes);
    if (count === null) return null;
    pending += decoder.decode(bytes.subarray(0, count), { stream: true });
    for (let key = firstKey(pending); key !== ""; key = firstKey(pending)) {
      pending = pending.slice(key.length);
      if (key === CTRL_C) Deno.exit(130);
      if (key === CTRL_D || key === ESCAPE) return null;
      if (ENTERS.includes(key)) {
        // Some terminals do not mark pasted text. If more input follows an empty line, the text is
        // assumed to be pasted.
        const isAfterLine = text === "" || /[\r\n]$/.test(text);
        if (!lines || (isAfterLine && pending === "")) return text;
      }
      text = edited(text, key);
    }
    stars = showStars(text, stars);
  }
}

/**
 * Returns the first key of the input: a character, the sequence of a special key, or a whole paste
 * with its marks. Empty if the rest of the key arrives with the next read.
 */
function firstKey(input: string): string {
  if (input.startsWith(PASTE_BEGINS)) {
    const end = input.indexOf(PASTE_ENDS);
    return end < 0 ? "" : input.slice(0, end + PASTE_ENDS.length);
  }
  if (BEGINNING.test(input)) return "";
  return SEQUENCE.exec(input)?.[0] ?? /^./su.exec(input)?.[0] ?? "";
}

/** Returns the text after a key was pressed. */
function edited(text: string, key: string): string {
  if (key.startsWith(PASTE_BEGINS)) {
    return text + key.slice(PASTE_BEGINS.length, -PASTE_ENDS.length);
  }
  if (SEQUENCE.test(key)) return text;
  if (BACKSPACES.includes(key)) return [...text].slice(0, -1).join("");
  return key === CTRL_U ? "" : text + key;
}

/** Adds or removes stars. Returns the number of stars now shown. */
function showStars(text: string, shown: number): number {
  // To save time, only the beginning of a long text is counted. A character has at most two code
  // units, so twice `MAX_STARS` code units suffice.
  const wanted = Math.min([...text.slice(0, 2 * MAX_STARS)].length, MAX_STARS);
  write(wanted < shown ? "\b \b".repeat(shown - wanted) : "*".repeat(wanted - shown));
  return wanted;
}

function restore(): void {
  Deno.stdin.setRaw(false);
  write(`${isDumbTerminal() ? "" : PASTE_MARKS_OFF}\n`);
}

function write(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
