/**
 * Calls `listener` when the signal aborts, or at once if it has already aborted.
 *
 * @returns A function that stops listening.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted) listener();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/**
 * Settles like the promise, but rejects with the signal's reason as soon as the signal aborts, even
 * if the work of the promise ignores the signal.
 */
export function unlessAborted<T>(
  signal: AbortSignal | undefined,
  promise: Promise<T>,
): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(stopListening);
  });
}
