/**
 * What this module throws: classes and codes (`errors.ts`), what to do next (`fix.ts`), what is known of
 * the cause (`cause.ts`), who shows it (`front_end.ts`), and what a stack shows. May import values.
 *
 * This file makes the stack of an error: what happened, and the caller's own frames only.
 */
import { wrapped } from "./wording.ts";
import { inKernel } from "./front_end.ts";

/** Deep enough to pass this module's own frames and reach the caller's. */
const DEPTH = 100;
const FRAME = /^\s+at (?:.* \(|async )?(.+):\d+:\d+\)?$/;

/** Where a public function was called; its frames are only turned into text when they are needed. */
interface CallSite {
  readonly trace: Error;
  /** How many frames the caller wants to see. */
  readonly limit: number;
}

/** Remembers the present call. */
export function callSite(): CallSite {
  const limit = Error.stackTraceLimit;
  // Reflect.set, because a program may have frozen Error.
  Reflect.set(Error, "stackTraceLimit", DEPTH);
  const trace = new Error();
  Reflect.set(Error, "stackTraceLimit", limit);
  return { trace, limit };
}

/** What an error tells, in parts. */
export interface Told {
  readonly problem: string;
  readonly fix?: string;
  /** Where to read more. */
  readonly help?: string;
}

const parts = new WeakMap<Error, Told>();

/** Reduces the stack of a new error to name, message and the caller's own frames. */
export function hideOwnFrames(error: Error, told: Told = { problem: error.message }): void {
  parts.set(error, told);
  // Once `stack` was read, an uncaught error is printed with our frames and a line of our source. So
  // it is replaced unread, and the trace of another error is read.
  error.stack = headOf(error);
  showCaller(error);
}

/**
 * Lists the caller's own frames below name and message, if the trace has any. Calls that wait for the
 * same work share its error, which then shows the last of them.
 */
export function showCaller(error: Error, site: CallSite = callSite()): void {
  const frames = framesOfCaller(site);
  if (frames.length > 0) error.stack = [headOf(error), ...frames].join("\n");
}

/**
 * What stands above the frames: name and message. A notebook breaks long lines within words, so there
 * they are broken here.
 */
function headOf(error: Error): string {
  const told = parts.get(error);
  return inKernel() && told !== undefined
    ? linesOf(error.name, told)
    : `${error.name}: ${error.message}`;
}

/** What happened, what to do and where to read more, each on lines of its own. */
export function linesOf(name: string, { problem, fix, help }: Told): string {
  return [
    wrapped(`${name}: ${problem}`),
    ...(fix ? [wrapped(`→ ${fix}`, "  ")] : []),
    ...(help ? [`  (${help})`] : []),
  ].join("\n");
}

/**
 * The frames with a place in a file or a cell that is neither ours nor the runtime's. The first frame
 * is that of this file. It tells where our files are: in one folder, or all in one bundled file. Its
 * own text is used, because the runtime writes other characters into a trace than into a URL.
 */
function framesOfCaller({ trace, limit }: CallSite): string[] {
  const lines = String(trace.stack).split("\n").filter((line) => FRAME.test(line));
  const ours = placeOf(lines[0] ?? "").replace(/errors\/stack\.ts$/, "");
  return lines.filter((line) => {
    const place = placeOf(line);
    return !place.startsWith(ours) && !/^(ext|node|deno):/.test(place);
  }).slice(0, limit);
}

function placeOf(line: string): string {
  return FRAME.exec(line)?.[1] ?? "";
}
