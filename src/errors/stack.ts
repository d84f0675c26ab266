/**
 * The stack of an error: its message and the caller's own frames. V8 keeps ten frames, and those of this
 * module alone can be more.
 */
import { inKernel } from "./advice.ts";
import { wrapped } from "./lines.ts";
import { helpOn, type Parts } from "./parts.ts";

/** Deep enough to pass this module's own frames and reach the caller's. */
const DEPTH = 100;
const FRAME = /^\s+at (?:.* \(|async )?(.+):\d+:\d+\)?$/;

/** Where a public function was called; turned into text only when an error needs it. */
export function callSite(): Error {
  const limit = Error.stackTraceLimit;
  // Reflect.set, because a program may have frozen Error.
  Reflect.set(Error, "stackTraceLimit", DEPTH);
  const trace = new Error();
  Reflect.set(Error, "stackTraceLimit", limit);
  return trace;
}

/** Reduces the stack of a new error to its message and the caller's frames. */
export function hideOwnFrames(error: Error): void {
  // Replaced before it is read: V8 prints an uncaught error whose stack was read with our source line.
  error.stack = headOf(error);
  showCaller(error);
}

/**
 * Lists the frames of this call, if its trace has any. Calls that wait for the same work share its
 * error, which then shows the last of them.
 */
export function showCaller(error: Error, site: Error = callSite()): void {
  const frames = framesOfCaller(site);
  if (frames.length > 0) error.stack = [headOf(error), ...frames].join("\n");
}

/** A notebook shows the stack alone, and breaks long lines within words; so they are broken here. */
function headOf(error: Error & Partial<Parts>): string {
  const { name, message, code, problem = message, fix = "" } = error;
  if (!inKernel()) return `${name}: ${message}`;
  return errorLines(name, { problem, fix, ...(code && { help: helpOn(code) }) });
}

/** Problem, fix and help, each on lines of its own. */
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
 * The frames in a file or a cell that is neither ours nor the runtime's. The first frame is that of this
 * file, and tells where our files are: in one folder, or all in one bundled file. Its own text is
 * compared, because the runtime escapes characters in a trace differently than in a URL.
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
