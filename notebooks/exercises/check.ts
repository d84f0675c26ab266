/**
 * What the cells say that begin with "Your turn". Each notebook has a file here with its exercises; a
 * wrong answer never throws, so that "Run All" goes on.
 */
import { show } from "../../src/notebook/mod.ts";

/** An answer as it was typed: nobody knows of what type it is. */
// deno-lint-ignore no-explicit-any
type Answer = any;

/** A question of a notebook, and what is said to the answers. */
export interface Exercise {
  /** Whether an answer is right. It may throw, which means no. */
  right: (answer: Answer) => boolean | Promise<boolean>;
  /** What a right answer is told: the reason. */
  because: string;
  /** What wrong answers are told: the first whose `when` holds. */
  hints?: readonly Hint[];
  /** What all other wrong answers are told, and nobody's answer yet: where to look. */
  hint: string;
}

/** What one kind of wrong answer is told. */
export interface Hint {
  when: Exercise["right"];
  say: string;
  /** Such an answer, as it is typed in place of `undefined`. The tests run the cell with it. */
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
    const exercise: Exercise = exercises[name];
    await show(await replyTo(exercise, await answer));
  };
}

async function replyTo(exercise: Exercise, answer: Answer): Promise<string> {
  if (answer === undefined) return `… Your turn. ${exercise.hint}`;
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
