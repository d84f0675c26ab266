/** Commands in this process, without what is printed. */
import type { Answer } from "../../src/cli/command.ts";
import { answerTo } from "../../src/cli/run.ts";

/** The address of the program, for what depends on it. */
export const ENTRY: string = import.meta.resolve("../../src/cli.ts");

/** Returns the result of a command, or throws its error. */
export function answerOf(...args: string[]): Promise<Answer> {
  return answerTo(args, ENTRY);
}
