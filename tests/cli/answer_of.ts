/** Runs commands in this process. Their results are returned instead of printed. */
import type { Answer } from "../../src/cli/command.ts";
import { answerTo } from "../../src/cli/run.ts";

/** URL of the program's entry point, from which some commands derive their output. */
export const ENTRY: string = import.meta.resolve("../../src/cli.ts");

/** Returns the result of a command, or throws its error. */
export function answerOf(...args: string[]): Promise<Answer> {
  return answerTo(args, ENTRY);
}
