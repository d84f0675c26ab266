/**
 * Properties that are tried on invented cases, and how often.
 *
 * All randomness in a test comes from the seed of the test runner, which the tasks set and print
 * (`deno test --seed=1`): the same seed means the same run. `deno task soak` takes another one each
 * time.
 */
import fc from "fast-check";

// By itself fast-check adds the time of day to the runner's seed.
fc.configureGlobal({ seed: Math.trunc(Math.random() * 2 ** 31) });

export { default as fc } from "fast-check";

/** The part of the long tests that is to run: 1 is all of them, 0 (by default) none. */
const SOAK = Number(Deno.env.get("SOAK") ?? 0);

/** How often to repeat something: as usual, or that part of the long run where it is more. */
export function rounds(usual: number, long: number): number {
  return Math.max(usual, Math.ceil(long * SOAK));
}
