import { UsageError } from "./output.ts";
import { systemWords } from "../errors/cause.ts";
import { ConfigError } from "../errors/errors.ts";

/**
 * Matches a name that looks like a path. Messages show only such a name: any other text may be a
 * secret, such as the content of the file, that the user passed by mistake.
 */
const LOOKS_LIKE_A_PATH = /^(?!.*eyJ)(?:[\w.-]{0,40}[\\/])*[\w-]{1,40}\.[a-z]{1,5}$/i;

/**
 * Reads a file given on the command line. The name `-` is standard input.
 *
 * @throws {ConfigError} `FILE` if the file cannot be read.
 */
export async function readInput(
  option: string,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  if (name === "-") return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  try {
    return await Deno.readFile(name);
  } catch (error) {
    throw unreadable(option, name, reasonOf(error), "check the path", error);
  }
}

function unreadable(option: string, name: string, why: string, fix: string, error?: unknown) {
  const shown = LOOKS_LIKE_A_PATH.test(name) ? ` ${name}` : "";
  const what = name === "-"
    ? `standard input (${option})`
    : `the file${shown} given with ${option}`;
  return new ConfigError("FILE", `Cannot read ${what}: ${why}`, fix, error);
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "it does not exist";
  return systemWords(error) ?? "the system refused to read it";
}

/**
 * Reads the file that the option names as UTF-8 text. Other bytes are an error, because damaged text
 * could be sent as a password.
 *
 * @throws {ConfigError} `FILE` if the file cannot be read or is not UTF-8 text.
 */
export async function readInputText(option: string, name: string): Promise<string> {
  const bytes = await readInput(option, name);
  const text = decoded(bytes);
  // UTF-16 begins with one of two marks, or has a zero byte in each Latin letter.
  const isUtf16 = text?.includes("\0") ?? ["fffe", "feff"].includes(bytes.subarray(0, 2).toHex());
  if (text !== undefined && !isUtf16) return text;
  throw unreadable(
    option,
    name,
    isUtf16 ? "it is UTF-16 text, not UTF-8" : "it is not UTF-8 text",
    'save it as UTF-8, in Windows PowerShell with "Set-Content -Encoding utf8"',
  );
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Parses the value of a numeric option. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number`, `write, for example, ${option} 60`);
}
