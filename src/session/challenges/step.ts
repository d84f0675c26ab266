import { type Answers, type Challenge, ChallengeError, HiddenKey } from "./challenge.ts";
import { type LoginResult, loginResult, type PasswordLogin } from "./login_result.ts";
import { requestAnswer, requestKey } from "../../provider/answer_challenge.ts";
import { asksOf, needsKey } from "../../provider/challenges.ts";
import type { IssuedChallenge } from "../../provider/protocol.ts";
import type { SendResult } from "../../provider/send.ts";
import { refusalError } from "../../provider/token_request.ts";
import type { AuthError, ChallengeErrorCode } from "../../errors/errors.ts";
import type { Fix } from "../../errors/advice.ts";
import type { Secret } from "../../platform/secret.ts";

/** Maximum number of refused answers to one step. */
const MAX_ATTEMPTS = 3;

const LOGIN_AGAIN = ["run ", { call: "login" }, " again"] as const satisfies Fix;

/** A login step that waits for an answer. */
export interface Step {
  readonly challenge: Challenge;
  /** The name by which the provider knows the user. */
  readonly username: string;
  /** The provider's session string, which must be sent with the answer. */
  readonly session: Secret | undefined;
  /** The code of an error about this step. */
  readonly code: ChallengeErrorCode;
  /** Whether the account gets a new password in this step or got one in an earlier step. */
  readonly hasNewPassword: boolean;
}

/**
 * Makes the step for a challenge.
 *
 * @param before The previous step.
 */
export function stepOf(
  { username }: PasswordLogin,
  issued: IssuedChallenge,
  before?: Step,
): Step {
  const { name, parameters, session } = issued;
  const challenge = { name, parameters, asks: asksOf(issued, username), attempt: 1 };
  return {
    challenge,
    username: issued.username ?? username,
    session,
    code: "CHALLENGE_REQUIRED",
    hasNewPassword: before?.hasNewPassword === true || name === "NEW_PASSWORD_REQUIRED",
  };
}

/** Requests a key for an authenticator app, if the step needs one and does not have it yet. */
export async function withNeededKey(
  { provider, world, username }: PasswordLogin,
  step: Step,
  signal: AbortSignal | undefined,
): Promise<Step> {
  const { challenge, session } = step;
  if (!needsKey(challenge) || challenge.authenticator !== undefined) return step;
  const result = await requestKey({ provider, world, session, signal });
  if (result.key === undefined) throw failure(step, result);
  const key = new HiddenKey(result.key, username, provider.url.hostname);
  const next = result.outcome.kind === "done" ? result.outcome.session : undefined;
  return { ...step, session: next ?? session, challenge: { ...challenge, authenticator: key } };
}

/**
 * Sends the answers to a step.
 *
 * @returns The next step, the same step if the user may answer again, or the result of the login.
 * @throws {ChallengeError} If the login must start over: `CHALLENGE_EXPIRED`, or after the third
 * refusal `CODE_REJECTED` or `NEW_PASSWORD_REJECTED`.
 * @throws {ProviderError} If the provider neither accepted nor rejected the answer: `UNREACHABLE`,
 * `TIMEOUT` and others.
 */
export async function answerStep(
  login: PasswordLogin,
  step: Step,
  answers: Answers,
  signal: AbortSignal | undefined,
): Promise<Step | LoginResult> {
  const { provider, world } = login;
  const { challenge, username, session, hasNewPassword } = step;
  const request = { provider, world, session, signal };
  const result = await requestAnswer(request, challenge, username, answers);
  if (result.tokens) return loginResult(login, result.tokens, result, hasNewPassword);
  const { outcome } = result;
  return outcome.kind === "challenge" ? stepOf(login, outcome, step) : stepAgain(step, result);
}

/** Returns the same step if another attempt is allowed. Otherwise, throws the error. */
function stepAgain(step: Step, result: SendResult): Step {
  const { outcome } = result;
  if (
    outcome.kind !== "refused" ||
    (outcome.code !== "CODE_REJECTED" && outcome.code !== "NEW_PASSWORD_REJECTED")
  ) throw failure(step, result);
  const { code, message = "", session = step.session } = outcome;
  const { challenge } = step;
  const again = { ...challenge, attempt: challenge.attempt + 1, refused: message };
  const next = { ...step, challenge: again, session, code };
  if (again.attempt <= MAX_ATTEMPTS) return next;
  const problem = `Cannot log in: ${stepProblem(next)}, for the third time in a row`;
  throw new ChallengeError(code, problem, LOGIN_AGAIN, challenge);
}

function failure(step: Step, result: SendResult): AuthError {
  const { outcome } = result;
  return outcome.kind === "refused" && outcome.code === "CHALLENGE_EXPIRED"
    ? expired(step, outcome.message ?? outcome.seen)
    : refusalError("login", result);
}

/** Makes the error for a step that can no longer be answered. */
function expired({ challenge }: Step, why: string): ChallengeError {
  return new ChallengeError(
    "CHALLENGE_EXPIRED",
    `Cannot log in: the step ${challenge.name} can no longer be answered (${why})`,
    LOGIN_AGAIN,
    challenge,
  );
}

/** Says what the provider requires, or why it refused the answer. */
export function stepProblem({ challenge, code }: Step): string {
  const { name, asks, refused } = challenge;
  if (code === "NEW_PASSWORD_REJECTED") return `the provider refused the new password (${refused})`;
  if (code === "CODE_REJECTED") return `the provider rejected the code (${refused})`;
  const prompts = asks.map(({ prompt }) => prompt.replace(/:$/, "")).join(", ");
  const details = prompts === "" ? name : `${name}: ${prompts}`;
  return `the provider requires a further step (${details})`;
}
