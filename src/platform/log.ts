import { AuthError, type AuthErrorCode } from "../errors/errors.ts";
import { environment } from "./environment.ts";
import type { LogEvent } from "./log_event.ts";

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

/** Receives events; never throws. */
export type Log = (event: LogEvent) => void;

/** Which events are written: all events (`debug`), or all except requests and settings (`info`). */
export type LogLevel = "info" | "debug";

/** The environment variable with the level. It is never read from a `.env`. */
export const LOG_VARIABLE = "AUTH_LOG";

const DEBUG_ONLY: readonly LogEvent["event"][] = ["settings", "request"];

let levelOfProcess: LogLevel | undefined;

/**
 * Sets the level for this process, as `--verbose` does. With `undefined`, `AUTH_LOG` sets the
 * level.
 */
export function setLogLevel(level: LogLevel | undefined): void {
  levelOfProcess = level;
}

/** Whether `AUTH_LOG` has a value that is not a level. */
export function isUnknownLevel(): boolean {
  const text = environment(LOG_VARIABLE);
  return Boolean(text) && levelIn(text) === undefined;
}

function levelIn(text: string | undefined): LogLevel | undefined {
  return text === "info" || text === "debug" ? text : undefined;
}

/**
 * Returns the log of a session. Returns `undefined` if the log is off, so that no event is created.
 *
 * @param listener The option `log`.
 */
export function logTo(listener: ((event: LogEvent) => void) | undefined): Log | undefined {
  const level = levelOfProcess ?? levelIn(environment(LOG_VARIABLE));
  if (level === undefined) return listener && guarded(listener);
  if (writer === undefined) loading ??= load();
  const write: Log = (event) => {
    if (level === "debug" || !DEBUG_ONLY.includes(event.event)) writeLine(event);
  };
  if (listener === undefined) return write;
  const tell = guarded(listener);
  return (event) => {
    write(event);
    tell(event);
  };
}

/** Returns a listener whose errors do not end the call that it observes. */
function guarded(listener: (event: LogEvent) => void): Log {
  return (event) => {
    try {
      const result: unknown = listener(event);
      // An unhandled rejection would end a script, and freeze a notebook's kernel.
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // An error of the user's listener must not end the call.
    }
  };
}

let writer: Log | undefined;
let loading: Promise<void> | undefined;
let waiting: LogEvent[] = [];

function writeLine(event: LogEvent): void {
  if (writer) writer(event);
  else waiting.push(event);
}

/** Loads the code that writes lines. Few processes need it. */
async function load(): Promise<void> {
  try {
    writer = (await import("./log_line.ts")).writeLine;
    for (const event of waiting) writer(event);
  } catch {
    // A log that cannot be written must not end a call.
  }
  waiting = [];
  loading = undefined;
}

/** Returns a promise that resolves when all lines are written; `undefined` if no line waits. */
export function linesWritten(): Promise<void> | undefined {
  return loading;
}

/**
 * Settles like the promise, but only once all lines are written, because an error of the promise
 * may end the process. If no line waits, returns the promise itself.
 */
export function afterLines<T>(work: Promise<T>): Promise<T> {
  return loading === undefined ? work : work.finally(() => loading);
}
