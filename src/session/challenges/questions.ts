import { type Answers, type AuthenticatorKey, keyText } from "./challenge.ts";
import { tidyAnswer } from "../../provider/challenges.ts";
import { ask } from "../../runtime/prompt.ts";
import { MAX_ATTEMPTS, problemOf, type Step } from "./step.ts";
import { printable } from "../../values/wording.ts";
import type { World } from "../../runtime/world.ts";

/** Asks for each part of an answer. @returns `null` if none was given, `undefined` if nobody can be asked. */
export async function askPerson(
  world: World,
  step: Step,
  key: AuthenticatorKey | undefined,
  signal: AbortSignal | undefined,
): Promise<Answers | null | undefined> {
  const { asks, refused } = step.challenge;
  const answers: Record<string, string> = {};
  const problem = problemOf(step).replace(/^./, (letter) => letter.toUpperCase());
  let lead = refused === undefined ? "" : `${problem}. `;
  for (const each of asks) {
    for (let tries = 1; answers[each.name] === undefined; tries++) {
      const options = each.choices?.map((choice, at) => ` ${at + 1} ${choice}`).join(",") ?? "";
      const line = printable(`${lead}${each.prompt}${options}`);
      const question = key === undefined ? line : `${keyText(key)}\n${line}`;
      const answer = await ask(world, question, each.secret, signal);
      if (answer === null) return undefined;
      if (answer.trim() === "" || tries > MAX_ATTEMPTS) return null;
      const chosen = each.choices
        ? each.choices.find((choice, at) =>
          [choice.toUpperCase(), `${at + 1}`].includes(answer.trim().toUpperCase())
        )
        : tidyAnswer(each.name, answer);
      lead = "";
      if (chosen === undefined) lead = "That is none of these. ";
      else if (each.name !== "NEW_PASSWORD") answers[each.name] = chosen;
      else {
        const second = await ask(world, "The same new password again:", true, signal);
        if (!second) return null;
        if (second === answer) answers[each.name] = chosen;
        else lead = "These two differ. ";
      }
    }
  }
  return answers;
}
