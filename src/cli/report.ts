import { CommandLineError, FAILED, LOGIN_NEEDED, USAGE, UsageError } from "./failure.ts";
import { printError, say } from "./output.ts";
import { ApiError, AuthError, CODES } from "../errors/errors.ts";
import { jsonText } from "../errors/escape.ts";

/** Prints an error to standard error. @returns The exit status. */
export function report(error: unknown, json: boolean): number {
  const isOurs = error instanceof AuthError || error instanceof CommandLineError;
  if (!isOurs && !(error instanceof TypeError)) throw error;
  if (json) printError(jsonText({ error: asJson(error) }));
  else say(error.message);
  if (error instanceof UsageError) return USAGE;
  const isOver = error instanceof AuthError &&
    ["SessionExpiredError", "ChallengeError"].includes(CODES[error.code]);
  const isRefused = error instanceof ApiError && error.status === 401;
  return isOver || isRefused ? LOGIN_NEEDED : FAILED;
}

/** An error as JSON shows it. Those of the runtime have no `toJSON()`. */
export function asJson(error: Error): object {
  return "toJSON" in error ? error : { name: error.name, message: error.message };
}
