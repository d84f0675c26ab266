import { unlessAborted } from "../platform/abort.ts";

/** Lets one holder at a time have its turn, in the order of the calls. */
export class Queue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits until all earlier turns have ended. The place in the queue is taken before the first
   * `await`. The turn ends when it is disposed of.
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
