import { unlessAborted } from "../platform/abort.ts";

/** Gives one turn at a time, in the order of the calls. */
export class Queue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits until all earlier turns have ended. A caller gets its place in the queue before the first
   * `await`. Disposing of the result ends the turn.
   *
   * @param signal Ends the wait. The reason of the signal is then thrown.
   */
  async turn(signal: AbortSignal | undefined): Promise<Disposable> {
    const before = this.#last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last = before.then(() => ended);
    try {
      await unlessAborted(signal, before);
    } catch (error) {
      end();
      throw error;
    }
    return { [Symbol.dispose]: end };
  }
}
