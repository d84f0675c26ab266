import { AuthError } from "../values/errors.ts";
import { inKernel } from "./prompt.ts";

/**
 * Ends a caller's wait when its signal aborts, or when Stop is pressed in a notebook; what others
 * share goes on. Stop would otherwise kill the kernel with all its memory, so its signal is listened
 * to while a call is waiting, in kernels only: in a script Ctrl-C ends the script, as always.
 *
 * @param doing What is being waited for, for the message.
 * @param work Is given the signal to heed.
 */
export async function cancellable<T>(
  doing: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  if (!inKernel()) return await unlessAborted(signal, work(signal));
  const stop = new AbortController();
  const onStop = () => {
    stop.abort(
      new AuthError(
        "INTERRUPTED",
        `Stopped ${doing}: Stop was pressed; the session lives on, run the cell again to go on`,
      ),
    );
  };
  Deno.addSignalListener("SIGINT", onStop);
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  try {
    return await unlessAborted(either, work(either));
  } finally {
    const unlisten = () => Deno.removeSignalListener("SIGINT", onStop);
    // Who presses Stop twice means this call too, and not the kernel.
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
