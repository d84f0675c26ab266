/**
 * Reduces the stack of an error to its message and the caller's frames. By default, V8 keeps ten
 * frames, which may all belong to this module.
 */
import { inKernel } from "./advice.ts";
import { wrapped } from "./lines.ts";
import { helpOn, type Parts } from "./parts.ts";

/** Number of frames to record, large enough to include the caller's frames. */
const DEPTH = 100;
const FRAME = /^\s+at (?:.* \(|async )?(.+):\d+:\d+\)?$/;

/**
 * Records where a public function was called. The trace is turned into text only when an error
 * needs it.
 */
export function callSite(): Error {
  const limit = Error.stackTraceLimit;
  // Reflect.set does not throw if a program has frozen Error.
  Reflect.set(Error, "stackTraceLimit", DEPTH);
  const trace = new Error();
  Reflect.set(Error, "stackTraceLimit", limit);
  return trace;
}

/** Reduces the stack of a new error to its message and the caller's frames. */
export function hideOwnFrames(error: Error): void {
  // Reading the stack makes V8 print our source line with an uncaught error, so the stack is
  // replaced before it is read.
  error.stack = headOf(error);
  showCaller(error);
}

/**
 * Replaces the frames of an error by the frames of this call's site, if there are any. Calls that
 * wait for the same work share one error, which then shows the last of these calls.
 */
export function showCaller(error: Error, site: Error = callSite()): void {
  const frames = framesOfCaller(site);
  if (frames.length > 0) error.stack = [headOf(error), ...frames].join("\n");
}

/**
 * Returns the beginning of a stack: name and message. In a notebook, the message is wrapped,
 * because the notebook would break long lines within words.
 */
function headOf(error: Error & Partial<Parts>): string {
  const { name, message, code, problem = message, fix = "", topic } = error;
  if (!inKernel()) return `${name}: ${message}`;
  return errorLines(name, { problem, fix, ...(code && { help: helpOn({ code, topic }) }) });
}

/** Returns problem, fix and help on separate lines. */
export function errorLines(
  name: string,
  { problem, fix, help }: {
    readonly problem: string;
    readonly fix: string;
    readonly help?: string;
  },
): string {
  return [
    wrapped(`${name}: ${problem}`),
    ...(fix ? [wrapped(`→ ${fix}`, "  ")] : []),
    ...(help ? [`  (${help})`] : []),
  ].join("\n");
}

/**
 * Returns the frames that belong neither to this module nor to the runtime. The first frame belongs
 * to this file, and its text shows where this module is: in a folder, or in one bundled file.
 * `import.meta.url` cannot be compared instead, because the runtime escapes characters in a trace
 * differently.
 */
function framesOfCaller({ stack }: Error): string[] {
  const lines = String(stack).split("\n").filter((line) => FRAME.test(line));
  const ours = placeOf(lines[0] ?? "").replace(/errors\/stack\.ts$/, "");
  return lines.filter((line) => {
    const place = placeOf(line);
    return !place.startsWith(ours) && !/^(ext|node|deno):/.test(place);
  }).slice(0, Error.stackTraceLimit);
}

function placeOf(line: string): string {
  return FRAME.exec(line)?.[1] ?? "";
}
