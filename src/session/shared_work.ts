import { onAbort } from "../platform/abort.ts";

/** Work that several callers wait for. If all of them give up, it is canceled until it takes effect. */
export class SharedWork<Result> {
  readonly #done = Promise.withResolvers<Result>();
  readonly #cancel = new AbortController();
  readonly #givenUp = new AbortController();
  readonly #callers: { readonly signal: AbortSignal | undefined; onCommitted?(): void }[] = [];
  #isCommitted = false;

  get result(): Promise<Result> {
    return this.#done.promise;
  }

  /** Aborted when the work is canceled. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  /** Aborted when no caller waits for the result any more. */
  get givenUp(): AbortSignal {
    return this.#givenUp.signal;
  }

  /** Whether the work can still be canceled, and was not. */
  get isOpen(): boolean {
    return !this.#isCommitted && !this.signal.aborted;
  }

  get isWaitedFor(): boolean {
    return this.#callers.some(({ signal }) => signal?.aborted !== true);
  }

  /** The complete state, for tests. */
  get memory(): unknown {
    return [this.signal.aborted, this.#isCommitted, this.#callers.map(({ signal }) => signal)];
  }

  /** @param onCommitted Called when the work takes effect. */
  join(signal: AbortSignal | undefined, onCommitted?: () => void): Promise<Result> {
    this.#callers.push({ signal, ...(onCommitted && { onCommitted }) });
    const stopListening = onAbort(signal, () => {
      if (this.isWaitedFor) return;
      this.#givenUp.abort(signal?.reason);
      if (!this.#isCommitted) this.cancel(signal?.reason);
    });
    this.result.then(stopListening, stopListening);
    return this.result;
  }

  settle(work: Promise<Result>): void {
    this.#done.resolve(work);
  }

  /** Notes that the work takes effect. From then on, callers who give up do not cancel it. */
  commit(): void {
    this.#isCommitted = true;
    for (const { onCommitted } of this.#callers) onCommitted?.();
  }

  cancel(reason: unknown): void {
    this.#cancel.abort(reason);
  }
}
