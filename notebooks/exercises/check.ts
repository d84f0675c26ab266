/**
 * The replies to the cells that begin with "Your turn". Each notebook has a file with its exercises
 * in this folder. A wrong answer never throws, so that "Run All" continues.
 */
import { show } from "../../src/notebook/mod.ts";

/** An answer as the user typed it, of any type. */
// deno-lint-ignore no-explicit-any
type Answer = any;

/** A question of a notebook, and the replies to its answers. */
export interface Exercise {
  /** Whether an answer is right. If the function throws, the answer is wrong. */
  right: (answer: Answer) => boolean | Promise<boolean>;
  /** The reason, shown after a right answer. */
  because: string;
  /** Replies to wrong answers. The first one whose `when` is true is shown. */
  hints?: readonly Hint[];
  /** The reply to any other wrong answer. */
  hint: string;
}

/** Shown until the first attempt, so that nobody reads a hint unasked. */
const NO_ANSWER = "… Your turn. Replace undefined with your answer, and run this cell again.";

/** The reply to one kind of wrong answer. */
export interface Hint {
  when: Exercise["right"];
  say: string;
  /** Such an answer, as typed instead of `undefined`. The tests run the cell with it. */
  example: string;
}

/**
 * Makes the `check()` of a notebook from its exercises.
 *
 * @returns A function that shows whether an answer is right, and if not, what is missing.
 */
export function checkOf<Name extends string>(
  exercises: Readonly<Record<Name, Exercise>>,
): (name: Name, answer: Answer) => Promise<void> {
  return async (name, answer) => {
    const value = await answer;
    const exercise: Exercise | undefined = Object.hasOwn(exercises, name)
      ? exercises[name]
      : undefined;
    await show(exercise ? await replyTo(exercise, value) : unknown(name, Object.keys(exercises)));
  };
}

function unknown(name: string, known: readonly string[]): string {
  return `✗ There is no exercise "${name}" in this notebook. Its exercises: ${known.join(", ")}.`;
}

async function replyTo(exercise: Exercise, answer: Answer): Promise<string> {
  if (answer === undefined) return NO_ANSWER;
  if (await holds(exercise.right, answer)) return `✓ Right. ${exercise.because}`;
  for (const { when, say } of exercise.hints ?? []) {
    if (await holds(when, answer)) return `✗ Not yet. ${say}`;
  }
  return `✗ Not yet. ${exercise.hint}`;
}

async function holds(test: Exercise["right"], answer: Answer): Promise<boolean> {
  try {
    return await test(answer);
  } catch {
    return false;
  }
}
