import { pause } from "./pauses.ts";
import type { Timing } from "./world.ts";

/**
 * The result of an attempt, or the pause before the next one and the reason to show during the
 * pause.
 */
export type Attempt<T> =
  | { readonly done: T }
  | { readonly pauseMs: number; readonly why: string };

/**
 * Repeats an attempt until it returns `done`. The caller decides when to give up: the attempt then
 * throws.
 *
 * @param attempt Makes one attempt. Its argument is the number of the attempt, starting at 1.
 * @param signal Ends the loop between two attempts. The signal's reason is then thrown.
 */
export async function retry<T>(
  timing: Timing,
  signal: AbortSignal | undefined,
  attempt: (count: number) => Promise<Attempt<T>>,
): Promise<T> {
  for (let count = 1;; count++) {
    signal?.throwIfAborted();
    const result = await attempt(count);
    if ("done" in result) return result.done;
    await pause(timing, result.pauseMs, result.why, signal);
  }
}
