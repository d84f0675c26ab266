import { AuthError, type AuthErrorCode } from "../errors/errors.ts";
import { printable } from "../errors/escape.ts";
import { environment } from "./environment.ts";
import type { LogEvent } from "./log_event.ts";
import { isDumbTerminal } from "./terminal.ts";

/** Receives events. */
export type Log = (event: LogEvent) => void;

/**
 * The environment variable that turns on the log. It is never read from a `.env`. Any value turns
 * the log on, except an empty one, `0`, `off` and `false`.
 */
export const LOG_VARIABLE = "AUTH_LOG";

const OFF = ["", "0", "off", "false"];

let isVerbose = false;

/** Turns the log on for the whole process, as `--verbose` does, or leaves it to `AUTH_LOG`. */
export function setVerbose(isOn: boolean): void {
  isVerbose = isOn;
}

/**
 * Returns the log of a session. Returns `undefined` if the log is off, so that no event is created.
 *
 * @param listener The option `log`.
 */
export function logTo(listener: Log | undefined): Log | undefined {
  const isOn = isVerbose || !OFF.includes(environment(LOG_VARIABLE)?.toLowerCase() ?? "");
  const receivers = [isOn ? writeLine : undefined, listener].filter((each) => each !== undefined);
  if (receivers.length === 0) return undefined;
  return (event) => receivers.forEach((receive) => notify(receive, event));
}

/** A receiver that fails must not end the call that it observes. */
function notify(receive: Log, event: LogEvent): void {
  try {
    const result: unknown = receive(event);
    // An unhandled rejection would end a script, and freeze a notebook's kernel.
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // No caller expects this error.
  }
}

/**
 * Writes an event as one line to standard error. Uses `console`, because nothing else appears under
 * the cell of a notebook.
 */
function writeLine(event: LogEvent): void {
  // The terminal may show a progress line. The event overwrites it, and the next progress update
  // draws it again below.
  const start = Deno.stderr.isTerminal() && !isDumbTerminal() ? "\r\u001b[K" : "";
  console.error(start + lineOf(event, new Date()));
}

/** The line of an event: the time, the name of the event, and its fields. */
export function lineOf({ event, ...fields }: LogEvent, time: Date): string {
  const texts = Object.entries(fields).map(([name, value]) => `${name}=${valueText(value)}`);
  return printable([time.toISOString(), "platform-auth:", event, ...texts].join(" "));
}

/** Text without blanks stays as it is. Anything else becomes JSON. */
function valueText(value: unknown): string {
  return typeof value === "string" && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

/** The outcome of an operation that did not succeed. */
type Failure = "canceled" | "failed" | AuthErrorCode;

/**
 * Returns the failure to log for an error. Uses only the error's code, because its text may contain
 * a secret.
 */
export function failureOf(error: unknown, signal: AbortSignal | null | undefined): Failure {
  if (error instanceof AuthError) return error.code;
  return signal?.aborted ? "canceled" : "failed";
}
