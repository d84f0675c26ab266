import type { Ask, SessionOptions } from "../settings/options.ts";

/** What lies outside this module: replaced as a whole in tests. */
export interface World {
  /** `undefined`: the runtime's own `fetch`. */
  readonly fetch: typeof fetch | undefined;
  /** Wall clock, milliseconds since 1970. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
  /** Pauses; ends early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** `undefined`: whatever the front end offers. */
  readonly ask: Ask | undefined;
}

/** The real world, except for what the options replace. */
export function worldOf(options: SessionOptions): World {
  return {
    fetch: options.fetch,
    now: options.now ?? (() => Date.now()),
    monotonic: options.monotonic ?? (() => performance.now()),
    sleep: options.sleep ?? pause,
    ask: options.prompt,
  };
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
