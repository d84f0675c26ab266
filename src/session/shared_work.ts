import { onAbort } from "../platform/abort.ts";

interface Caller {
  readonly signal: AbortSignal | undefined;
  /** Called when the work takes effect, unless the caller has given up. */
  readonly onCommitted: (() => void) | undefined;
}

/**
 * Work that several callers wait for. The work is canceled if all callers give up before the work
 * takes effect.
 */
export class SharedWork<Result> {
  private readonly done = Promise.withResolvers<Result>();
  private readonly canceling = new AbortController();
  private readonly givingUp = new AbortController();
  private readonly callers: Caller[] = [];
  private isCommitted = false;
  readonly result = this.done.promise;
  /** Aborted when the work is canceled. */
  readonly signal = this.canceling.signal;
  /** Aborted when no caller waits for the result any more. */
  readonly givenUp = this.givingUp.signal;

  /** Whether the work has neither taken effect nor been canceled. */
  get isOpen(): boolean {
    return !this.isCommitted && !this.signal.aborted;
  }

  get isWaitedFor(): boolean {
    return this.callers.some(({ signal }) => signal?.aborted !== true);
  }

  /** @param signal The signal of one caller. When it aborts, this caller has given up. */
  join(signal: AbortSignal | undefined, onCommitted?: () => void): Promise<Result> {
    this.callers.push({ signal, onCommitted });
    const stopListening = onAbort(signal, () => {
      if (this.isWaitedFor) return;
      this.givingUp.abort(signal?.reason);
      if (this.isOpen) this.cancel(signal?.reason);
    });
    this.result.then(stopListening, stopListening);
    return this.result;
  }

  follow(work: Promise<Result>): void {
    this.done.resolve(work);
  }

  /** Records that the work takes effect. Callers that give up later do not cancel the work. */
  commit(): void {
    this.isCommitted = true;
    for (const { signal, onCommitted } of this.callers) {
      if (signal?.aborted !== true) onCommitted?.();
    }
  }

  cancel(reason: unknown): void {
    this.canceling.abort(reason);
  }
}
