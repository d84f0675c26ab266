/**
 * Reduces the stack of an error to its message and the caller's frames. V8 keeps ten frames by
 * default, and this module alone may use more.
 */
import { inKernel } from "./advice.ts";
import { wrapped } from "./lines.ts";
import { helpOn, type Parts } from "./parts.ts";

/** Number of frames to record. It is large enough to include the caller's frames. */
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
  // V8 would print our source line with an uncaught error whose stack was read, so the stack is
  // replaced before that.
  error.stack = headOf(error);
  showCaller(error);
}

/**
 * Shows the frames of this call, if its trace has any. Calls that wait for the same work share an
 * error, which then shows the last of these calls.
 */
export function showCaller(error: Error, site: Error = callSite()): void {
  const frames = framesOfCaller(site);
  if (frames.length > 0) error.stack = [headOf(error), ...frames].join("\n");
}

/** Wraps the message: a notebook shows only the stack and breaks long lines within words. */
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
 * to this file and shows where this module is: in a folder, or in one bundled file. The runtime
 * escapes characters in a trace differently than in `import.meta.url`, so the text of that frame is
 * compared.
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
