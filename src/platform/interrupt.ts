import { callSite, showCaller } from "../errors/stack.ts";
import { AuthError } from "../errors/errors.ts";
import { onAbort, unlessAborted } from "./abort.ts";
import { inKernel } from "../errors/advice.ts";

/**
 * Time for which the listener stays active after Stop. Users may press Stop twice to end one call;
 * the second press must not reach the kernel.
 */
const SECOND_PRESS_MS = 1_000;

/**
 * Ends a call when its signal aborts, or when Stop is pressed in a notebook. Work that the call
 * shares with other calls continues. Without a listener for SIGINT, Stop kills the kernel with all
 * its variables, so a listener is active while a call waits in a kernel. In a script, Ctrl-C ends
 * the script as usual.
 *
 * An error shows where this call was made, even if other calls wait for the same result.
 *
 * @param action The name of the call, for the message.
 * @param work The work of the call. Its arguments are the signal, and a function to call once the
 * outcome is final. After that, an abort is ignored.
 * @param stop The controller that Stop aborts. Pass one if several waits belong to the same
 * request.
 */
export async function cancellable<T>(
  action: string,
  signal: AbortSignal | undefined,
  work: Work<T>,
  stop: AbortController = new AbortController(),
): Promise<T> {
  signal?.throwIfAborted();
  // If a cell uses `then()`, the cell is no longer on the stack when an error occurs, so the call
  // site is recorded at once. Recording would slow down a script, so it is done only in a kernel.
  const site = inKernel() ? callSite() : undefined;
  const unlisten = site && listenForStop(action, stop);
  const signals = [signal, site && stop.signal].filter((each) => each !== undefined);
  const either = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  try {
    return await untilAborted(either, work);
  } catch (error) {
    if (error instanceof AuthError) showCaller(error, site);
    throw error;
  } finally {
    unlisten?.();
  }
}

type Work<T> = (signal: AbortSignal | undefined, onApplied: () => void) => Promise<T>;

/** Rejects when the signal aborts, unless the outcome of the work is already final. */
async function untilAborted<T>(signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
  if (signal === undefined) return await work(signal, () => {});
  const end = new AbortController();
  const onApplied = onAbort(signal, () => end.abort(signal.reason));
  try {
    return await unlessAborted(end.signal, work(signal, onApplied));
  } finally {
    onApplied();
  }
}

/**
 * Aborts `stop` when Stop is pressed.
 * @returns A function that stops listening.
 */
function listenForStop(action: string, stop: AbortController): () => void {
  const onStop = () => {
    stop.abort(
      new AuthError(
        "INTERRUPTED",
        `Stopped ${action}: Stop was pressed, so nothing more is sent`,
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
 * Does the same as `cancellable`, for a call that returns a response. In a notebook, Stop also ends
 * the body of the response.
 *
 * A listener is active from the first read to the end of the body, so that Stop ends the body even
 * between two reads. Before the first read, no listener is active: an unread body may stay in a
 * variable for hours, and meanwhile Stop must end the kernel's other work.
 */
export async function cancellableResponse(
  action: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Response>,
): Promise<Response> {
  const stop = new AbortController();
  const response = await cancellable(action, signal, work, stop);
  return inKernel() ? stoppable(action, response, stop) : response;
}

/** Returns the same response with a body that Stop ends. */
function stoppable(action: string, response: Response, stop: AbortController): Response {
  const { body, url, redirected } = response;
  if (body === null) return response;
  const copy = new Response(stoppableStream(action, body, stop), response);
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } });
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

function stoppableStream(action: string, body: Bytes, stop: AbortController): Bytes {
  const reader = body.getReader();
  let unlisten: (() => void) | undefined;
  const end = () => {
    unlisten?.();
    unlisten = undefined;
  };
  // Stop removes the listener, so that the next Stop reaches the kernel even if nobody reads the
  // rest of the body.
  stop.signal.addEventListener("abort", end);
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      unlisten ??= listenForStop(action, stop);
      try {
        const { done, value } = await unlessAborted(stop.signal, reader.read());
        if (value !== undefined) controller.enqueue(value);
        if (!done) return;
        end();
        controller.close();
        controller.byobRequest?.respond(0);
      } catch (error) {
        end();
        // The original body is canceled here, because the signal no longer ends it once the runtime
        // has dropped the request.
        reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
}
