import { type Answers, AuthenticatorKey, type Challenge, ChallengeError } from "./challenge.ts";
import {
  checkAnswers,
  needsKey,
  requestAnswer,
  requestKey,
  requestVerification,
} from "../../provider/challenges.ts";
import type { AuthError } from "../../errors/errors.ts";
import type { IssuedChallenge, ProviderSettings } from "../../provider/protocol.ts";
import { deliveryError, type TokenDelivery } from "../../provider/token_request.ts";
import type { Delivery } from "../../provider/send.ts";
import type { SessionStatus } from "../status.ts";
import { inKernel, untilHeard } from "../../runtime/prompt.ts";
import { askPerson } from "./questions.ts";
import { expired, MAX_ATTEMPTS, messageOf, problemOf, type Step, stepOf, withKey } from "./step.ts";
import type { Tokens } from "../../values/tokens.ts";
import type { World } from "../../runtime/world.ts";

/** How a notebook shows a key for an authenticator app. */
export interface KeyDisplay {
  /** Makes a key show as text and picture where it is the value of a cell. */
  displayableKey(key: AuthenticatorKey): AuthenticatorKey;
  /** Shows it now. @returns Takes it out of the output again. */
  showKey(key: AuthenticatorKey): Promise<() => Promise<void>>;
}

/** A login that is under way. */
export interface LoginUnderWay {
  readonly provider: ProviderSettings;
  readonly world: World;
  /** The name that the user logs in with. */
  readonly username: string;
  readonly onChallenge: ((challenge: Challenge) => Answers | Promise<Answers>) | undefined;
  /** Whether a person may be asked. */
  readonly asks: boolean;
  display(): Promise<KeyDisplay>;
  /** Learns from an answer; gives its tokens as those of this login. */
  learn(answer: TokenDelivery): Tokens | undefined;
  /** Whether no later login or logout has begun to count. */
  isWanted(): boolean;
  /** Ends the login in a later call. */
  finish(work: (signal: AbortSignal | undefined) => Promise<Tokens>): Promise<SessionStatus>;
}

/** Takes the steps that the provider wants, one after the other, until it issues tokens. */
export async function takeSteps(
  login: LoginUnderWay,
  issued: IssuedChallenge,
  signal: AbortSignal | undefined,
): Promise<Tokens> {
  let shown: { key: AuthenticatorKey; takeOut(): Promise<void> } | undefined;
  try {
    let found: Step | Tokens = await firstOf(login, issued, signal);
    while (isStep(found)) {
      const step: Step = found;
      const { challenge: { asks, authenticator: key } } = step;
      if (shown && shown.key !== key) shown = void await shown.takeOut();
      if (asks.length === 0) throw errorOf(login, step);
      let answers: Answers | null | undefined;
      if (login.onChallenge) {
        answers = checkAnswers(await login.onChallenge(step.challenge), asks, "onChallenge");
        await untilHeard(signal);
      } else if (login.asks) {
        const { display, world } = login;
        // A notebook keeps what a question says; what is displayed can be taken out again.
        const displays = key !== undefined && world.ask === undefined && inKernel();
        if (displays) shown ??= { key, takeOut: await (await display()).showKey(key) };
        const isShown = displays || step.challenge.attempt > 1;
        answers = await askPerson(world, step, isShown ? undefined : key, signal);
      }
      if (!answers) throw errorOf(login, step, answers === null);
      found = await take(login, step, answers, signal);
    }
    return found;
  } finally {
    await shown?.takeOut();
  }
}

function isStep(found: Step | Tokens): found is Step {
  return "challenge" in found;
}

/** The step of a new challenge. At the provider a key is made, where one is needed. */
async function firstOf(
  login: LoginUnderWay,
  issued: IssuedChallenge,
  signal: AbortSignal | undefined,
): Promise<Step> {
  const { provider, world, username } = login;
  const step = stepOf(issued, username);
  if (!needsKey(step.challenge)) return step;
  const { displayableKey } = await login.display();
  const delivery = await requestKey({ provider, world, session: step.session }, { signal });
  if (delivery.outcome.kind !== "key") throw failure(login, step, delivery);
  const { key, session = step.session } = delivery.outcome;
  const shown = new AuthenticatorKey(key, username, provider.url.hostname);
  const challenge = withKey(step.challenge, displayableKey(shown));
  return { ...step, session, challenge };
}

/** Sends an answer. @returns Tokens, the next step, or the same one where another answer may be given. */
async function take(
  login: LoginUnderWay,
  step: Step,
  answers: Answers,
  signal: AbortSignal | undefined,
): Promise<Step | Tokens> {
  const { provider, world } = login;
  const { challenge, username } = step;
  let { session } = step;
  if (challenge.authenticator !== undefined) {
    const [code = ""] = Object.values(answers);
    const delivery = await requestVerification({ provider, world, session }, code, { signal });
    if (delivery.outcome.kind !== "verified") return stepAgain(login, step, delivery);
    session = delivery.outcome.session ?? session;
  }
  const sent = { provider, world, session };
  const answer = await requestAnswer(sent, challenge, username, answers, { signal });
  const tokens = login.learn(answer);
  if (tokens !== undefined) return tokens;
  const { outcome } = answer.delivery;
  if (outcome.kind === "challenge") return await firstOf(login, outcome, signal);
  return stepAgain(login, step, answer.delivery);
}

/** The same step once more, where the answer was refused and another may be given. */
function stepAgain(login: LoginUnderWay, step: Step, delivery: Delivery): Step {
  const { outcome } = delivery;
  if (outcome.kind !== "refused") throw failure(login, step, delivery);
  const { code, message = "", codeAlreadyUsed = false, session } = outcome;
  if (code !== "CODE_REJECTED" && code !== "NEW_PASSWORD_REJECTED") {
    throw failure(login, step, delivery);
  }
  const { challenge, challenge: { authenticator, attempt } } = step;
  const again = withKey({ ...challenge, attempt: attempt + 1, refused: message }, authenticator);
  const next = {
    ...step,
    challenge: again,
    session: session ?? step.session,
    code,
    codeAlreadyUsed,
  };
  if (attempt >= MAX_ATTEMPTS) {
    throw new ChallengeError(
      code,
      `Cannot log in: ${problemOf(next)}, for the third time in a row; run login() again`,
      challenge,
      () => Promise.reject(expired(step, "three answers were refused")),
    );
  }
  return next;
}

function failure(login: LoginUnderWay, step: Step, delivery: Delivery): AuthError {
  const { outcome } = delivery;
  return outcome.kind === "refused" && outcome.code === "CHALLENGE_EXPIRED"
    ? expired(step, outcome.message ?? outcome.seen)
    : deliveryError("login", delivery, login.world.now());
}

/** The error of a step that nobody answered here: it can be answered later. */
function errorOf(login: LoginUnderWay, first: Step, isCanceled = false): ChallengeError {
  // An answer goes to the step that the login is at, whichever error is asked: a cell is run twice.
  let now: Step | undefined = first;
  const respond = (given: Answers): Promise<SessionStatus> =>
    login.finish(async (signal) => {
      if (now === undefined || !login.isWanted()) {
        throw expired(first, now ? "a later login or logout counts" : "it was answered before");
      }
      const step: Step = now;
      if (step.challenge.asks.length === 0) throw made(step);
      const answers = checkAnswers(given, step.challenge.asks, "respond()");
      now = undefined;
      try {
        const found = await take(login, step, answers, signal);
        if (!isStep(found)) return found;
        now = found;
      } catch (error) {
        // Where the provider did not judge it, the same answer may be given again.
        if (!(error instanceof ChallengeError)) now = step;
        throw error;
      }
      throw made(now);
    });
  const made = (step: Step, isCanceled = false) =>
    new ChallengeError(step.code, messageOf(step, true, isCanceled), step.challenge, respond);
  return made(first, isCanceled);
}
