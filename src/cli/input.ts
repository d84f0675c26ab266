import { UsageError } from "./output.ts";
import { ConfigError } from "../errors/errors.ts";

/**
 * Reads a file that is named on the command line. The name `-` is standard input.
 *
 * @throws {ConfigError} `FILE` if it cannot be read.
 */
export async function readInput(
  option: string,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  if (name === "-") return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  try {
    return await Deno.readFile(name);
  } catch (error) {
    // The name is not shown, because the user may have passed a secret instead of a name, such as
    // the content of the file.
    throw new ConfigError("FILE", `Cannot read the file of ${option}`, "check the path", error);
  }
}

/** Reads such a file and decodes it as text. */
export async function readInputText(option: string, name: string): Promise<string> {
  return new TextDecoder().decode(await readInput(option, name));
}

/** Parses the value of a numeric option. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number`, "such as 60");
}
