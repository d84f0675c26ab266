import { UsageError } from "./output.ts";
import { ConfigError } from "../errors/errors.ts";

/**
 * Reads a file that the command line names; `-` is standard input.
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
    // The contents instead of the name may be a secret, and so may an address.
    const shown = /[\r\n=|]|:\/|.{200}/.test(name) ? `the file of ${option}` : name;
    throw new ConfigError("FILE", `Cannot read ${shown}`, "check the path", error);
  }
}

/** The same as text. */
export async function readInputText(option: string, name: string): Promise<string> {
  return new TextDecoder().decode(await readInput(option, name));
}

/** The value of an option that is a number. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number`, "such as 60");
}
