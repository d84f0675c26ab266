import { unlessAborted } from "../platform/abort.ts";

/** Does one piece of work at a time, in the order of the calls. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** @param signal Ends the wait for earlier work. The reason of the signal is then thrown. */
  async run<Result>(
    signal: AbortSignal | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    try {
      await unlessAborted(signal, before);
      return await work();
    } finally {
      done.resolve();
    }
  }
}
