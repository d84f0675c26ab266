import { Pauses } from "./pauses.ts";
import type { World } from "./world.ts";

/**
 * The result of an attempt, or the pause before the next one and the reason to show during the
 * pause.
 */
export type Attempt<T> =
  | { readonly done: T }
  | { readonly pauseMs: number; readonly why: string };

/**
 * Repeats an attempt until it is done. The caller decides when to give up: each attempt returns
 * either its result or the pause before the next one.
 *
 * @param attempt Makes one attempt. Receives its number, starting at 1.
 * @param signal Ends the loop between attempts. The reason of the signal is thrown.
 * @param pauses The pauses, if several simultaneous loops share one line.
 */
export async function retry<T>(
  world: World,
  signal: AbortSignal | undefined,
  attempt: (count: number) => Promise<Attempt<T>>,
  pauses: Pauses = new Pauses(world),
): Promise<T> {
  for (let count = 1;; count++) {
    signal?.throwIfAborted();
    const result = await attempt(count);
    if ("done" in result) {
      pauses.endStretch();
      return result.done;
    }
    if (result.pauseMs > 0) await pauses.pause(result.pauseMs, result.why, signal);
  }
}
