import { UsageError } from "./output.ts";
import { systemWords } from "../errors/cause.ts";
import { ConfigError } from "../errors/errors.ts";
import { utf8Text } from "../settings/text_file.ts";

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
    const why = systemWords(error) ?? "the system refused to read it";
    throw unreadable(option, why, "check the path", error);
  }
}

/** The name is not shown: it may be a secret that the user passed by mistake. */
function unreadable(option: string, why: string, fix: string, error?: unknown): ConfigError {
  return new ConfigError("FILE", `Cannot read the input of ${option}: ${why}`, fix, error);
}

/**
 * Reads the specified file as UTF-8 text. Any other encoding is an error, because damaged text
 * could be sent as a password.
 *
 * @throws {ConfigError} `FILE` if the file cannot be read or is not UTF-8 text.
 */
export async function readInputText(option: string, name: string): Promise<string> {
  const text = utf8Text(await readInput(option, name));
  // Latin letters in UTF-16 without a byte order mark are valid UTF-8, but contain zero bytes.
  if (text !== undefined && !text.includes("\0")) return text.replace(/^\ufeff/, "");
  throw unreadable(
    option,
    "it is not UTF-8 text, but perhaps UTF-16",
    'save it as UTF-8, in Windows PowerShell with "Set-Content -Encoding utf8"',
  );
}

/** Parses the value of a numeric option. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number`, `write, for example, ${option} 60`);
}
