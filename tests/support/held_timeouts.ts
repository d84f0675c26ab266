/** Timeouts that fire when the test says so, so that a busy machine has no effect. */
export interface HeldTimeouts extends Disposable {
  /** The milliseconds of each call of `AbortSignal.timeout()`, oldest first. */
  readonly asked: number[];
  /** Lets this many milliseconds pass, and fires the timeouts that are due. */
  pass(ms: number): void;
}

/** Replaces `AbortSignal.timeout` until the result is disposed of. */
export function heldTimeouts(): HeldTimeouts {
  const real = AbortSignal.timeout;
  const asked: number[] = [];
  const pending = new Map<AbortController, number>();
  let passed = 0;
  AbortSignal.timeout = (ms) => {
    asked.push(ms);
    const controller = new AbortController();
    pending.set(controller, passed + ms);
    return controller.signal;
  };
  return {
    asked,
    pass(ms) {
      passed += ms;
      for (const [controller, end] of pending) {
        if (end > passed) continue;
        pending.delete(controller);
        controller.abort(new DOMException("Signal timed out.", "TimeoutError"));
      }
    },
    [Symbol.dispose]: () => {
      AbortSignal.timeout = real;
    },
  };
}
