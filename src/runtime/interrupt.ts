import { callSite, showCaller } from "../values/caller.ts";
import { AuthError } from "../values/errors.ts";
import { inKernel } from "./prompt.ts";

/**
 * Ends a caller's wait when its signal aborts, or when Stop is pressed in a notebook; what others
 * share goes on. Stop kills the kernel with all its memory unless its signal is listened to. That is
 * done in kernels only, and only while a call waits: in a script Ctrl-C ends the script, as always.
 *
 * An error shows where this call was made, also if others wait for the same result.
 *
 * @param doing The call that waits, for the message.
 * @param work Is given the signal to heed.
 */
export async function cancellable<T>(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // A cell that goes on with then() is only known here. In a script it would slow each call down.
  const site = inKernel() ? callSite() : undefined;
  try {
    return site
      ? await unlessStopped(doing, signal, work)
      : await unlessAborted(signal, work(signal));
  } catch (error) {
    if (error instanceof AuthError) showCaller(error, site);
    throw error;
  }
}

async function unlessStopped<T>(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const onStop = () => {
    stop.abort(
      new AuthError(
        "INTERRUPTED",
        `Stopped ${doing}: Stop was pressed, and nothing is sent after that; run the cell again`,
      ),
    );
  };
  Deno.addSignalListener("SIGINT", onStop);
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  try {
    return await unlessAborted(either, work(either));
  } finally {
    const unlisten = () => Deno.removeSignalListener("SIGINT", onStop);
    // A second press means this call, too, and not the kernel.
    if (stop.signal.aborted) setTimeout(unlisten, 1_000);
    else unlisten();
  }
}

function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
