/**
 * Takes the further steps of a login. A program, a person or a later call of `respond()` answers
 * each step. `challenge.ts` has the types that users see; `step.ts` handles a single step.
 */
import {
  type Answers,
  type AuthenticatorKey,
  type Challenge,
  ChallengeError,
  keyText,
} from "./challenge.ts";
import type { LoginResult, PasswordLogin } from "./login_result.ts";
import {
  answerStep,
  expired,
  LOGIN_AGAIN,
  MAX_LIST_LENGTH,
  type Step,
  stepOf,
  stepProblem,
} from "./step.ts";
import {
  type ChallengeAsk,
  checkAnswers,
  elsewhere,
  tidyAnswer,
} from "../../provider/challenges.ts";
import type { Fix } from "../../errors/advice.ts";
import type { IssuedChallenge } from "../../provider/protocol.ts";
import { type Questions, untilHeard } from "../../platform/prompt.ts";
import { printable } from "../../errors/escape.ts";
import { shortened } from "../../errors/lines.ts";

/** The ways to answer the steps of a login. */
export interface Answerers {
  readonly questions: Questions;
  /** The callback that answers the steps, if the caller passed one. */
  readonly onChallenge: ((challenge: Challenge) => Answers | Promise<Answers>) | undefined;
  /** Whether to prompt the user. */
  readonly asksPerson: boolean;
}

/**
 * Takes the steps that the provider requires until it issues tokens.
 *
 * @throws {ChallengeError} `CHALLENGE_REQUIRED`, `CODE_REJECTED` or `NEW_PASSWORD_REJECTED` if a
 * step remains unanswered; the error's `respond()` continues the login. `CHALLENGE_EXPIRED` if the
 * login must start over.
 */
export async function takeSteps(
  login: PasswordLogin,
  issued: IssuedChallenge,
  answerers: Answerers,
  signal: AbortSignal | undefined,
): Promise<LoginResult> {
  let next: Step | LoginResult = await stepOf(login, issued, signal);
  while (!("tokens" in next)) {
    const answers = await answersTo(login, next, answerers, signal);
    next = await answerStep(login, next, answers, signal);
  }
  return next;
}

async function answersTo(
  login: PasswordLogin,
  step: Step,
  { questions, onChallenge, asksPerson }: Answerers,
  signal: AbortSignal | undefined,
): Promise<Answers> {
  const { challenge, challenge: { asks, attempt, authenticator: key } } = step;
  if (asks.length === 0) throw openStep(login, step);
  if (onChallenge) {
    const answers = checkAnswers(await onChallenge(challenge), asks, "onChallenge must return");
    await untilHeard(signal);
    return answers;
  }
  if (!asksPerson) throw openStep(login, step);
  // A notebook saves the text of a prompt, but this code can remove an output. A notebook therefore
  // shows the key as an output.
  const isDisplayed = key !== undefined && questions.isInNotebook;
  const remove = isDisplayed ? await (await login.support?.keyDisplay())?.showKey(key) : undefined;
  try {
    const noted = isDisplayed || attempt > 1 ? undefined : key;
    const host = login.provider.url.host;
    const answers = await askPerson(questions, step, host, noted, signal);
    if (answers) return answers;
    throw openStep(login, step, answers === null);
  } finally {
    await remove?.();
  }
}

/**
 * Prompts for each part of an answer.
 *
 * @param host The host that receives the answer.
 * @returns `null` if the user did not answer, `undefined` if no prompt is possible.
 */
async function askPerson(
  questions: Questions,
  step: Step,
  host: string,
  key: AuthenticatorKey | undefined,
  signal: AbortSignal | undefined,
): Promise<Answers | null | undefined> {
  const { asks, refused } = step.challenge;
  const answers: Record<string, string> = {};
  const keyNotes = key === undefined ? [] : [keyText(key)];
  let lead: string[] = [];
  if (refused !== undefined) {
    const problem = stepProblem(step);
    const advice = step.code === "CODE_REJECTED" ? "; a code works only once" : "";
    lead = [`${problem.charAt(0).toUpperCase()}${problem.slice(1)}${advice}.`];
  }
  for (const each of asks) {
    for (let tries = 1; answers[each.name] === undefined; tries++) {
      const options = each.choices?.map((choice, at) => ` ${at + 1} ${choice}`).join(",") ?? "";
      const line = [...lead, `${each.prompt}${options}`].map(printable).join("\n");
      const notes = each.secret ? [...keyNotes, `For ${host}:`] : keyNotes;
      const answer = await questions.ask(line, { secret: each.secret, signal, notes });
      if (answer === null) return undefined;
      if (answer.trim() === "" || tries > MAX_TRIES) return null;
      const chosen = chosenBy(each, answer);
      lead = chosen === undefined ? ["This is not one of the choices."] : [];
      if (chosen === undefined) continue;
      if (each.name === "NEW_PASSWORD") {
        const second = await questions.ask("The same new password again:", {
          secret: true,
          signal,
          notes,
        });
        if (!second) return null;
        lead = second === answer ? [] : ["The two passwords differ."];
        if (second !== answer) continue;
      }
      answers[each.name] = chosen;
    }
  }
  return answers;
}

/** Maximum number of invalid inputs at one prompt. */
const MAX_TRIES = 3;

/** Finds the choice whose name or number was typed. */
function chosenBy({ name, choices }: ChallengeAsk, answer: string): string | undefined {
  if (!choices) return tidyAnswer(name, answer);
  const typed = answer.trim().toUpperCase();
  return choices.find((choice, at) => [choice.toUpperCase(), `${at + 1}`].includes(typed));
}

/**
 * Makes the error for a step that remains unanswered. The error's `respond()` continues the login
 * in later calls.
 */
function openStep(login: PasswordLogin, first: Step, isCanceled = false): ChallengeError {
  const { support } = login;
  // A cell may run twice and call `respond()` of an earlier error. All errors of a login therefore
  // share `open`, the step to answer next. While an answer is being sent, no step is open.
  let open: Step | undefined = first;
  const respond = support && ((given: Answers) =>
    support.inLaterCall(async (signal, isWanted) => {
      const step = open;
      if (step === undefined) throw expired(first, "it was already answered");
      if (!isWanted) throw expired(first, "a later login or logout replaced this login");
      if (step.challenge.asks.length === 0) throw errorOf(step);
      const answers = checkAnswers(given, step.challenge.asks, "respond() takes");
      open = undefined;
      try {
        const next = await answerStep(login, step, answers, signal);
        if ("tokens" in next) return next;
        open = next;
      } catch (error) {
        // The provider neither accepted nor rejected the answer, so the step is open again.
        if (!(error instanceof ChallengeError)) open = step;
        throw error;
      }
      throw errorOf(open);
    }));
  const errorOf = (step: Step, isCanceled = false) => {
    const [problem, fix] = openTexts(step, support !== undefined, isCanceled);
    return new ChallengeError(step.code, problem, fix, step.challenge, respond);
  };
  return errorOf(first, isCanceled);
}

/** Returns the problem and the fix for a step that remains unanswered. */
function openTexts(step: Step, canRespond: boolean, isCanceled: boolean): [string, Fix] {
  const { name, asks, authenticator } = step.challenge;
  if (asks.length === 0) {
    const { problem, fix = "" } = elsewhere(name);
    return [`Cannot log in: ${stepProblem(step)}, and ${problem}`, fix];
  }
  const parts = asks.map((each) =>
    `${each.name.includes(".") ? JSON.stringify(each.name) : each.name}: "…"`
  );
  const wanted = shortened(parts.join(", "), MAX_LIST_LENGTH);
  const key = authenticator ? ", whose key is in its challenge.authenticator" : "";
  const later = canRespond ? ` or with respond({ ${wanted} }) of this error${key}` : "";
  const byProgram = `, or answer with onChallenge${later}`;
  const cause = `Cannot log in: ${stepProblem(step)}`;
  if (isCanceled) {
    return [`${cause}, and no answer was given`, [...LOGIN_AGAIN, { inProgram: byProgram }]];
  }
  const where = {
    inProgram: `, in a notebook or a terminal${byProgram}`,
    inTerminal: ", in a terminal",
  };
  return [cause, ["run ", { call: "login" }, " where it can prompt", where]];
}
