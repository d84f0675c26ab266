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
    const shown = LOOKS_LIKE_A_PATH.test(name) ? ` ${name}` : "";
    const problem = `Cannot read the file${shown} given with ${option}: ${reasonOf(error)}`;
    throw new ConfigError("FILE", problem, "check the path", error);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "it does not exist";
  return systemWords(error) ?? "the system refused to read it";
}

/** Reads the file that the option names and decodes it as text. */
export async function readInputText(option: string, name: string): Promise<string> {
  return new TextDecoder().decode(await readInput(option, name));
}

/** Parses the value of a numeric option. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number`, "such as 60");
}
