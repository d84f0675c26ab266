/** Timeouts that end when the test says so, so that a busy machine has no effect. */
export interface HeldTimeouts extends Disposable {
  /** The milliseconds of each `AbortSignal.timeout()` that was asked for, oldest first. */
  readonly asked: number[];
  /** Lets this many milliseconds pass, which ends the timeouts that are over by then. */
  pass(ms: number): void;
}

/** Replaces `AbortSignal.timeout` until it is disposed of. */
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
