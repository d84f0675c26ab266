/**
 * Takes the further steps of a login. A program or a person answers each step. `challenge.ts` has the
 * types that users see; `step.ts` handles a single step.
 */
import { type Answers, type Challenge, ChallengeError, keyText } from "./challenge.ts";
import type { LoginResult, LoginSupport, PasswordLogin } from "./login_result.ts";
import { answerStep, type Step, stepOf, stepProblem, withNeededKey } from "./step.ts";
import { type ChallengeAsk, checkAnswers, tidyAnswer } from "../../provider/challenges.ts";
import type { IssuedChallenge } from "../../provider/protocol.ts";
import { type Questions, untilHeard } from "../../platform/prompt.ts";
import { printable } from "../../errors/escape.ts";

/** The ways to answer the steps of a login. */
export interface Answerers {
  readonly questions: Questions;
  /** The callback that answers the steps, if the caller passed one. */
  readonly onChallenge: ((challenge: Challenge) => Answers | Promise<Answers>) | undefined;
  /** Whether to prompt the user. */
  readonly asksPerson: boolean;
  readonly showKey: LoginSupport["showKey"] | undefined;
}

/**
 * Takes the steps that the provider requires until it issues tokens.
 *
 * @throws {ChallengeError} `CHALLENGE_REQUIRED`, `CODE_REJECTED` or `NEW_PASSWORD_REJECTED` if a
 * step remains unanswered; `CHALLENGE_EXPIRED` if it was answered too late.
 */
export async function takeSteps(
  login: PasswordLogin,
  issued: IssuedChallenge,
  answerers: Answerers,
  signal: AbortSignal | undefined,
): Promise<LoginResult> {
  const { onChallenge, asksPerson } = answerers;
  let next: Step | LoginResult = stepOf(login, issued);
  while (!("tokens" in next)) {
    if (next.challenge.asks.length === 0) throw unanswerable(next);
    if (!onChallenge && !asksPerson) throw unanswered(next);
    const step: Step = await withNeededKey(login, next, signal);
    const answers = onChallenge
      ? await askProgram(onChallenge, step, signal)
      : await askPerson(login, step, answerers, signal);
    next = await answerStep(login, step, answers, signal);
  }
  return next;
}

async function askProgram(
  onChallenge: NonNullable<Answerers["onChallenge"]>,
  { challenge }: Step,
  signal: AbortSignal | undefined,
): Promise<Answers> {
  const answers = checkAnswers(await onChallenge(challenge), challenge.asks);
  await untilHeard(signal);
  return answers;
}

/** Prompts for each part of an answer, and shows the key for an authenticator app meanwhile. */
async function askPerson(
  login: PasswordLogin,
  step: Step,
  { questions, showKey }: Answerers,
  signal: AbortSignal | undefined,
): Promise<Answers> {
  const { asks, attempt, authenticator: key } = step.challenge;
  // A notebook saves the text of a prompt, but this code can remove an output. A notebook therefore
  // shows the key as an output.
  const isOutput = key !== undefined && questions.isInNotebook;
  const keyNotes = key === undefined || isOutput || attempt > 1 ? [] : [keyText(key)];
  const receiver = `For ${login.provider.url.host}:`;

  const prompt: PromptFor = async (line, secret) => {
    const notes = secret ? [...keyNotes, receiver] : keyNotes;
    const answer = await questions.ask(line, { secret, signal, notes });
    if (answer === null || answer.trim() === "") throw unanswered(step);
    return answer;
  };
  const isDrawn = keyNotes.length > 0 && questions.isInTerminal;
  const removeKey = key && (isOutput || isDrawn) ? await showKey?.(key) : undefined;
  try {
    const answers: Record<string, string> = {};
    let lead = refusalLine(step);
    for (const ask of asks) {
      answers[ask.name] = await askFor(ask, lead, prompt);
      lead = "";
    }
    return answers;
  } finally {
    await removeKey?.();
  }
}

/**
 * Prompts the user once.
 * @throws {ChallengeError} If no prompt is possible, or nothing was entered.
 */
type PromptFor = (line: string, secret: boolean) => Promise<string>;

/**
 * Prompts for one part of an answer until the input is valid.
 *
 * @param lead A line to show above the first prompt, or nothing.
 */
async function askFor(
  ask: ChallengeAsk,
  lead: string,
  prompt: PromptFor,
): Promise<string> {
  const options = ask.choices?.map((choice, at) => ` ${at + 1} ${choice}`).join(",") ?? "";
  let above = lead;
  for (;;) {
    const lines = [above, `${ask.prompt}${options}`].filter((line) => line !== "");
    const answer = await prompt(lines.map(printable).join("\n"), ask.secret);
    const chosen = chosenBy(ask, answer);
    if (chosen === undefined) {
      above = "This is not one of the choices.";
      continue;
    }
    if (ask.name !== "NEW_PASSWORD") return chosen;
    if (await prompt("Repeat the new password:", true) === answer) return chosen;
    above = "The two passwords differ.";
  }
}

/** Says why the previous answer was refused; empty if there was none. */
function refusalLine(step: Step): string {
  if (step.challenge.refused === undefined) return "";
  const problem = stepProblem(step);
  const advice = step.code === "CODE_REJECTED" ? "; a code works only once" : "";
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}${advice}.`;
}

/** Finds the choice whose name or number was typed. */
function chosenBy({ name, choices }: ChallengeAsk, answer: string): string | undefined {
  if (!choices) return tidyAnswer(name, answer);
  const typed = answer.trim().toUpperCase();
  return choices.find((choice, at) => [choice.toUpperCase(), `${at + 1}`].includes(typed));
}

/** Makes the error for a step that this module cannot answer. */
function unanswerable(step: Step): ChallengeError {
  const problem = `Cannot log in: ${stepProblem(step)}, which this module cannot answer`;
  return new ChallengeError(step.code, problem, [
    "ask the support channel of your subscription to allow a login without this step, or log in " +
    "to the portal, choose Copy Token and run ",
    { call: "login", options: { strategy: "portal" } },
  ], step.challenge);
}

/** Makes the error for a step that was not answered: no prompt is possible, or nothing was entered. */
function unanswered(step: Step): ChallengeError {
  const problem = `Cannot log in: ${stepProblem(step)}`;
  return new ChallengeError(step.code, problem, [
    "run ",
    { call: "login" },
    { inProgram: " in a notebook or a terminal", inTerminal: " in a terminal" },
    " and answer its prompt",
    { inProgram: ", or pass onChallenge" },
  ], step.challenge);
}
