import { callSite, showCaller } from "../errors/stack.ts";
import { AuthError } from "../errors/errors.ts";
import { unlessAborted } from "./abort.ts";
import { inKernel } from "../errors/kernel.ts";

/** After a Stop, how long a second press means the same call and not the kernel. */
const SECOND_PRESS_MS = 1_000;

/**
 * Ends a call when its signal aborts, or when Stop is pressed in a notebook. Work that other calls
 * share continues. Stop kills the kernel with all its memory unless a listener hears its signal. There
 * is one in kernels only, and only while a call waits: in a script Ctrl-C ends the script, as always.
 *
 * An error shows where this call was made, also if other calls wait for the same result.
 *
 * @param doing The call that waits, for the message.
 * @param work Gets the signal, and a function to call once its outcome counts: from then on the call
 *   ends as the work does.
 * @param stop What Stop aborts, for calls that wait more than once for the same request.
 */
export async function cancellable<T>(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined, onCounts: () => void) => Promise<T>,
  stop?: AbortController,
): Promise<T> {
  signal?.throwIfAborted();
  // A cell that goes on with then() is only known here. In a script it would slow each call down.
  const site = inKernel() ? callSite() : undefined;
  try {
    return site
      ? await unlessStopped(doing, signal, work, stop ?? new AbortController())
      : await untilAborted(signal, work);
  } catch (error) {
    if (error instanceof AuthError) showCaller(error, site);
    throw error;
  }
}

async function unlessStopped<T>(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, onCounts: () => void) => Promise<T>,
  stop: AbortController,
): Promise<T> {
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const unlisten = listenForStop(doing, stop);
  try {
    return await untilAborted(either, work);
  } finally {
    unlisten();
  }
}

/** Ends with the signal, unless the outcome of the work counts by then. */
async function untilAborted<T, S extends AbortSignal | undefined>(
  signal: S,
  work: (signal: S, onCounts: () => void) => Promise<T>,
): Promise<T> {
  if (signal === undefined) return await work(signal, () => {});
  const end = new AbortController();
  const onAbort = () => end.abort(signal.reason);
  const onCounts = () => signal.removeEventListener("abort", onAbort);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await unlessAborted(end.signal, work(signal, onCounts));
  } finally {
    onCounts();
  }
}

/** Aborts when Stop is pressed. @returns Ends the listening. */
function listenForStop(doing: string, stop: AbortController): () => void {
  const onStop = () => {
    stop.abort(
      new AuthError(
        "INTERRUPTED",
        `Stopped ${doing}: Stop was pressed, and nothing is sent after that`,
        "run the cell again",
      ),
    );
  };
  Deno.addSignalListener("SIGINT", onStop);
  return () => {
    const unlisten = () => Deno.removeSignalListener("SIGINT", onStop);
    if (stop.signal.aborted) setTimeout(unlisten, SECOND_PRESS_MS);
    else unlisten();
  };
}

/**
 * As `cancellable`, for an answer. In a notebook Stop also ends the reading of its body.
 *
 * The listener exists from the first read to the end of the body, also while the reader works on a
 * piece: the next read ends then. An unread body may stay in a variable for hours, and with a listener
 * Stop would not end the kernel's other work.
 */
export async function cancellableResponse(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Response>,
): Promise<Response> {
  const stop = new AbortController();
  const response = await cancellable(doing, signal, work, stop);
  return inKernel() ? stoppable(doing, response, stop) : response;
}

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/** Puts readers that end at Stop in place of those that the object inherits. */
function stoppable(doing: string, response: Response, stop: AbortController): Response {
  if (response.body === null) return response;
  const readers = READERS.map((name) => {
    const read = Response.prototype[name] as () => Promise<unknown>;
    return [name, () => cancellable(doing, undefined, () => read.call(response), stop)];
  });
  const copy = () => stoppable(doing, Response.prototype.clone.call(response), stop);
  // Looked up when it is read: `clone()` puts another in its place.
  const body = () => Reflect.get(Response.prototype, "body", response) as Body;
  const stream = stoppableStream(doing, body, stop);
  const methods = [...readers, ["clone", copy]].map((
    [name, value],
  ) => [name, { value, writable: true, configurable: true }]);
  return Object.defineProperties(response, {
    ...Object.fromEntries(methods),
    body: { get: () => stream, configurable: true },
  });
}

type Body = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Locks the body at the first read; until then `text()` and the others work. */
function stoppableStream(
  doing: string,
  body: () => Body,
  stop: AbortController,
): Body {
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  let unlisten: (() => void) | undefined;
  const end = () => {
    unlisten?.();
    unlisten = undefined;
  };
  // If a body is read only in part, the first Stop ends that read. The next Stop reaches the kernel.
  stop.signal.addEventListener("abort", end);
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      unlisten ??= listenForStop(doing, stop);
      try {
        const opened = reader ??= body().getReader();
        const { done, value } = await unlessAborted(stop.signal, opened.read());
        if (value !== undefined) controller.enqueue(value);
        if (!done) return;
        end();
        controller.close();
        controller.byobRequest?.respond(0);
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel(reason) {
      end();
      await (reader ?? body()).cancel(reason);
    },
  });
}
