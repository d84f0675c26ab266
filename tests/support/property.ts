/**
 * Property tests, and the number of cases that they try.
 *
 * All randomness in a test comes from the seed of the test runner, which the tasks set and print
 * (`deno test --seed=1`): the same seed means the same run. `deno task soak` takes another one each
 * time.
 */
import fc from "fast-check";

// Without this, fast-check's seed would also depend on the time of day.
fc.configureGlobal({ seed: Math.trunc(Math.random() * 2 ** 31) });

export { default as fc } from "fast-check";

/** The part of the long run to do: 1 is all of it. Default 0: none. */
const SOAK = Number(Deno.env.get("SOAK") ?? 0);

/** The number of repetitions: `usual`, or the chosen part of `long` if that is more. */
export function rounds(usual: number, long: number): number {
  return Math.max(usual, Math.ceil(long * SOAK));
}
