/**
 * Further steps of a login. A generator takes them one after the other: it yields what the provider
 * asks and is given the answers. Three drive it: a program (`onChallenge`), a person at a notebook or
 * a terminal, and later calls of `respond()`.
 */
import {
  type Answers,
  type AuthenticatorKey,
  type Challenge,
  ChallengeError,
  challengeError,
  HiddenKey,
  keyText,
} from "./challenge.ts";
import { requestAnswer, requestKey, requestVerification } from "../../provider/answer_challenge.ts";
import {
  afterUsedCode,
  asksOf,
  checkAnswers,
  elsewhere,
  needsKey,
  replacesPassword,
  tidyAnswer,
} from "../../provider/challenges.ts";
import { type AuthError, type ChallengeErrorCode, ProviderError } from "../../errors/errors.ts";
import type { Fix } from "../../errors/advice.ts";
import type { IssuedChallenge, ProviderSettings } from "../../provider/protocol.ts";
import { deliveryError, type TokenDelivery } from "../../provider/token_request.ts";
import type { Delivery, Waiters } from "../../provider/send.ts";
import { type Questions, untilHeard } from "../../platform/prompt.ts";
import type { World } from "../../platform/world.ts";
import type { Secret } from "../../platform/secret.ts";
import type { Tokens } from "../../provider/tokens.ts";
import { printable } from "../../errors/escape.ts";
import { shortened } from "../../errors/lines.ts";
import type { NoticeTexts } from "../notices.ts";
import type { SessionStatus } from "../status.ts";

/** How often an answer to the same step may be refused. */
const MAX_ATTEMPTS = 3;
/** No account needs so many steps: a provider that asks for more would ask for ever. */
const MAX_STEPS = 20;

/** How much of what a step asks for stands in an error, in characters. All of it is in its `challenge`. */
const MAX_LIST_LENGTH = 1_000;

/** A step that waits for an answer. */
interface Step {
  readonly challenge: Challenge;
  /** The name by which the provider knows the user. */
  readonly username: string;
  /** What the answer must carry. */
  readonly session: Secret | undefined;
  /** The code of an error about this step. */
  readonly code: ChallengeErrorCode;
  /** Whether the refused code was right once. */
  readonly codeAlreadyUsed: boolean;
}

/** What a login yields. */
interface Asked {
  readonly step: Step;
  /** Why the provider did not judge the last answer: it may be given again. */
  readonly error?: unknown;
}

/** What a login takes. */
interface Answered {
  readonly answers: Answers;
  /** Whether they begin the login's time anew, because a person may have given them. */
  readonly isByPerson: boolean;
  /** Of the call that gives the answers. */
  readonly signal: AbortSignal | undefined;
}

/** What a login gives. Until that is kept, nothing has changed. */
export interface LoginResult {
  readonly tokens: Tokens;
  /** The provider's clock minus this machine's, in milliseconds, if the login told. */
  readonly clockOffsetMs: number | undefined;
  /** What the user should know, by cause; `undefined` takes back what was said of it. */
  readonly notices: NoticeTexts;
}

/** A login that asks for its further steps. */
export type SteppedLogin = AsyncGenerator<Asked, LoginResult, Answered>;

/** How a notebook shows a key for an authenticator app. */
interface KeyDisplay {
  /** Makes a key show as text and picture where it is the value of a cell. */
  displayableKey(key: AuthenticatorKey): AuthenticatorKey;
  /** Shows it now. @returns Takes it out of the output again. */
  showKey(key: AuthenticatorKey): Promise<() => Promise<void>>;
}

/** What a session offers to a login with further steps. */
export interface StepSupport {
  /** Loads what shows a key. */
  keyDisplay(): Promise<KeyDisplay>;
  /**
   * Runs the rest of the login in a later call, and keeps its result as `login()` does.
   *
   * @param work Is told whether no later login or logout has begun to count.
   */
  inLaterCall(
    work: (signal: AbortSignal | undefined, isWanted: boolean) => Promise<LoginResult>,
  ): Promise<SessionStatus>;
}

/** What all steps of a login need. */
interface StepLogin {
  readonly provider: ProviderSettings;
  readonly world: World;
  /** The name that the user logs in with. */
  readonly username: string;
  /** How long the provider took for what came before, in milliseconds. */
  readonly spentMs: number;
  /** Without it nobody can answer later, and no key is made at the provider. */
  readonly support: StepSupport | undefined;
}

/** What the last step gave. */
interface StepsTaken {
  readonly answer: TokenDelivery;
  readonly tokens: Tokens;
  /** Whether the account got a new password on the way. */
  readonly newPassword: boolean;
}

/**
 * Takes the steps that the provider wants until it issues tokens. After a refused answer the same step
 * is yielded again, up to its third attempt.
 *
 * @throws {ChallengeError} If the login must start over.
 * @throws {ProviderError} `UNEXPECTED_RESPONSE` if the steps have no end.
 */
export async function* furtherSteps(
  login: StepLogin,
  issued: IssuedChallenge,
  signal: AbortSignal | undefined,
): AsyncGenerator<Asked, StepsTaken, Answered> {
  const { provider, world } = login;
  const time = new LoginTime(login);
  let asked: Asked = { step: await newStep(login, issued, time, { signal }) };
  let newPassword = replacesPassword(issued);
  for (let steps = 1; steps <= MAX_STEPS;) {
    time.stop();
    const { answers, isByPerson, signal } = yield asked;
    time.goOn(isByPerson);
    const waiters = { signal };
    const { step }: Asked = asked;
    const { challenge, username } = step;
    let { session } = step;
    try {
      if (challenge.authenticator !== undefined) {
        const [code = ""] = Object.values(answers);
        const sent = { provider, world, session, deadlineMs: time.leftMs() };
        const delivery = await requestVerification(sent, code, waiters);
        if (delivery.outcome.kind !== "verified") {
          asked = { step: stepAgain(login, step, delivery) };
          continue;
        }
        session = delivery.outcome.session ?? session;
      }
      const sent = { provider, world, session, deadlineMs: time.leftMs() };
      const answer = await requestAnswer(sent, challenge, username, answers, waiters);
      const { delivery, tokens } = answer;
      if (tokens !== undefined) return { answer, tokens, newPassword };
      if (delivery.outcome.kind === "challenge") {
        steps++;
        asked = { step: await newStep(login, delivery.outcome, time, waiters) };
        newPassword ||= replacesPassword(delivery.outcome);
      } else {
        asked = { step: stepAgain(login, step, delivery) };
      }
    } catch (error) {
      if (error instanceof ChallengeError) throw error;
      asked = { step, error };
    }
  }
  throw new ProviderError(
    "UNEXPECTED_RESPONSE",
    `Cannot log in: the provider asked for more than ${MAX_STEPS} further steps and gave no token`,
    ["log in to the portal, choose Copy Token and run ", {
      call: "login",
      options: { strategy: "portal" },
    }],
    {},
  );
}

/**
 * The time that the provider has for a login: while an answer is waited for it stands, and it begins
 * anew with each answer that a person may have given.
 */
class LoginTime {
  readonly #world: World;
  readonly #limitMs: number;
  #spentMs: number;
  /** When it last began to run; `undefined`: it stands. */
  #since: number | undefined;

  constructor({ world, provider, spentMs }: StepLogin) {
    this.#world = world;
    this.#limitMs = provider.timeoutMs;
    this.#spentMs = spentMs;
    this.#since = world.monotonic();
  }

  leftMs(): number {
    const runs = this.#since === undefined ? 0 : this.#world.monotonic() - this.#since;
    return this.#limitMs - this.#spentMs - runs;
  }

  stop(): void {
    this.#spentMs = this.#limitMs - this.leftMs();
    this.#since = undefined;
  }

  goOn(anew: boolean): void {
    if (anew) this.#spentMs = 0;
    this.#since = this.#world.monotonic();
  }
}

/** The step of a new challenge. At the provider a key is made, where one is needed. */
async function newStep(
  login: StepLogin,
  issued: IssuedChallenge,
  time: LoginTime,
  waiters: Waiters,
): Promise<Step> {
  const { provider, world, username, support } = login;
  const { name, parameters, session } = issued;
  const challenge = { name, parameters, asks: asksOf(issued, username), attempt: 1 };
  const step: Step = {
    challenge,
    username: issued.username ?? username,
    session,
    code: "CHALLENGE_REQUIRED",
    codeAlreadyUsed: false,
  };
  if (!needsKey(challenge) || support === undefined) return step;
  const { displayableKey } = await support.keyDisplay();
  const sent = { provider, world, session, deadlineMs: time.leftMs() };
  const delivery = await requestKey(sent, waiters);
  const { outcome } = delivery;
  if (outcome.kind !== "key") throw failure(step, delivery, world);
  const key = displayableKey(new HiddenKey(outcome.key, username, provider.url.hostname));
  return { ...step, session: outcome.session ?? session, challenge: withKey(challenge, key) };
}

/** The same step once more, where the answer was refused and another may be given. */
function stepAgain({ world }: StepLogin, step: Step, delivery: Delivery): Step {
  const { outcome } = delivery;
  if (outcome.kind !== "refused") throw failure(step, delivery, world);
  const { code, message = "", codeAlreadyUsed = false, session = step.session } = outcome;
  if (code !== "CODE_REJECTED" && code !== "NEW_PASSWORD_REJECTED") {
    throw failure(step, delivery, world);
  }
  const { challenge, challenge: { authenticator, attempt } } = step;
  const again = withKey({ ...challenge, attempt: attempt + 1, refused: message }, authenticator);
  const next = { ...step, challenge: again, session, code, codeAlreadyUsed };
  if (attempt >= MAX_ATTEMPTS) {
    throw challengeError(
      code,
      `Cannot log in: ${problemOf(next)}, for the third time in a row`,
      LOGIN_AGAIN,
      challenge,
      () => Promise.reject(expired(step, "three answers were refused")),
    );
  }
  return next;
}

/** A challenge with its key, which no output shows by chance. */
function withKey(challenge: Challenge, value: AuthenticatorKey | undefined): Challenge {
  return value ? Object.defineProperty(challenge, "authenticator", { value }) : challenge;
}

function failure(step: Step, delivery: Delivery, world: World): AuthError {
  const { outcome } = delivery;
  return outcome.kind === "refused" && outcome.code === "CHALLENGE_EXPIRED"
    ? expired(step, outcome.message ?? outcome.seen)
    : deliveryError("login", delivery, world.now());
}

/** Who can answer the steps of a login. */
export interface Answerers {
  /** What a person is asked with. */
  readonly questions: Questions;
  /** A program, if it wants to. */
  readonly onChallenge: ((challenge: Challenge) => Answers | Promise<Answers>) | undefined;
  /** Whether a person may be asked. */
  readonly asksPerson: boolean;
  /** Lets later calls answer. */
  readonly support: StepSupport | undefined;
}

/**
 * Drives a login to its end, by a program or a person.
 *
 * @throws {ChallengeError} If a step is left open: its `respond()` drives the login from there.
 */
export async function driveLogin(
  login: SteppedLogin,
  { questions, onChallenge, asksPerson, support }: Answerers,
  signal: AbortSignal | undefined,
): Promise<LoginResult> {
  let shown: { key: AuthenticatorKey; takeOut(): Promise<void> } | undefined;
  try {
    let next = await login.next();
    while (!next.done) {
      const { step, error } = next.value;
      if (error !== undefined) throw error;
      const { asks, attempt, authenticator: key } = step.challenge;
      if (shown !== undefined && shown.key !== key) {
        await shown.takeOut();
        shown = undefined;
      }
      if (asks.length === 0) throw openStep(login, step, support);
      let answers: Answers | null | undefined;
      if (onChallenge) {
        answers = checkAnswers(await onChallenge(step.challenge), asks, "onChallenge must give");
        await untilHeard(signal);
      } else if (asksPerson) {
        // A notebook keeps what a question says; what is displayed can be taken out again.
        if (key !== undefined && support && questions.isInNotebook) {
          const { showKey } = await support.keyDisplay();
          shown ??= { key, takeOut: await showKey(key) };
        }
        const isShown = shown !== undefined || attempt > 1;
        answers = await askPerson(questions, step, isShown ? undefined : key, signal);
      }
      if (!answers) throw openStep(login, step, support, answers === null);
      next = await login.next({ answers, isByPerson: onChallenge === undefined, signal });
    }
    return next.value;
  } finally {
    await shown?.takeOut();
  }
}

/**
 * Asks for each part of an answer. @returns `null` if none was given, `undefined` if nobody can be
 * asked.
 */
async function askPerson(
  questions: Questions,
  step: Step,
  key: AuthenticatorKey | undefined,
  signal: AbortSignal | undefined,
): Promise<Answers | null | undefined> {
  const { challenge, challenge: { asks, refused } } = step;
  const answers: Record<string, string> = {};
  let lead: string[] = [];
  if (refused !== undefined) {
    const problem = problemOf(step);
    const advice = step.codeAlreadyUsed ? `; ${afterUsedCode(challenge)}` : "";
    lead = [`${problem.charAt(0).toUpperCase()}${problem.slice(1)}${advice}.`];
  }
  for (const each of asks) {
    for (let tries = 1; answers[each.name] === undefined; tries++) {
      const options = each.choices?.map((choice, at) => ` ${at + 1} ${choice}`).join(",") ?? "";
      const line = [...lead, `${each.prompt}${options}`].map(printable).join("\n");
      const notes = key === undefined ? [] : [keyText(key)];
      const answer = await questions.ask(line, { secret: each.secret, signal, notes });
      if (answer === null) return undefined;
      if (answer.trim() === "" || tries > MAX_ATTEMPTS) return null;
      const chosen = each.choices
        ? each.choices.find((choice, at) =>
          [choice.toUpperCase(), `${at + 1}`].includes(answer.trim().toUpperCase())
        )
        : tidyAnswer(each.name, answer);
      lead = [];
      if (chosen === undefined) {
        lead = ["That is none of these."];
      } else if (each.name !== "NEW_PASSWORD") {
        answers[each.name] = chosen;
      } else {
        const second = await questions.ask("The same new password again:", {
          secret: true,
          signal,
        });
        if (!second) return null;
        if (second === answer) answers[each.name] = chosen;
        else lead = ["These two differ."];
      }
    }
  }
  return answers;
}

/** The error of a step that is left open. Its `respond()` drives the login from there, in later calls. */
function openStep(
  login: SteppedLogin,
  first: Step,
  support: StepSupport | undefined,
  isCanceled = false,
): ChallengeError {
  // An answer goes to the step that the login is at, whichever error is asked: a cell is run twice.
  let open: Step | undefined = first;
  const respond = support && ((given: Answers) =>
    support.inLaterCall(async (signal, isWanted) => {
      if (open === undefined) throw expired(first, "it was answered before");
      if (!isWanted) throw expired(first, "a later login or logout counts");
      const { asks } = open.challenge;
      if (asks.length === 0) throw errorOf(open);
      const answers = checkAnswers(given, asks, "respond() takes");
      open = undefined;
      const next = await login.next({ answers, isByPerson: true, signal });
      if (next.done) return next.value;
      open = next.value.step;
      throw next.value.error ?? errorOf(open);
    }));
  const errorOf = (step: Step, isCanceled = false) => {
    const [problem, fix] = openTexts(step, support !== undefined, isCanceled);
    return challengeError(step.code, problem, fix, step.challenge, respond);
  };
  return errorOf(first, isCanceled);
}

const LOGIN_AGAIN = ["run ", { call: "login" }, " again"] as const satisfies Fix;

/** Problem and fix of a step that is left open. */
function openTexts(step: Step, canRespond: boolean, isCanceled: boolean): [string, Fix] {
  const { challenge, challenge: { name, asks, authenticator } } = step;
  if (asks.length === 0) {
    const { reason, fix } = elsewhere(name);
    return [`Cannot log in: ${problemOf(step)}, and ${reason}`, fix];
  }
  const parts = asks.map((each) =>
    `${each.name.includes(".") ? JSON.stringify(each.name) : each.name}: "…"`
  );
  const wanted = shortened(parts.join(", "), MAX_LIST_LENGTH);
  const key = authenticator ? ", whose key is in its challenge.authenticator" : "";
  const later = canRespond ? ` or with respond({ ${wanted} }) of this error${key}` : "";
  const byProgram = `, or answer with onChallenge${later}`;
  const cause = `Cannot log in: ${problemOf(step)}`;
  if (isCanceled) {
    return [`${cause}, and no answer was given`, [...LOGIN_AGAIN, { inProgram: byProgram }]];
  }
  const advice = step.codeAlreadyUsed ? `${afterUsedCode(challenge)}; ` : "";
  const where = {
    inProgram: `, in a notebook or a terminal${byProgram}`,
    inTerminal: ", in a terminal",
  };
  return [cause, [`${advice}run `, { call: "login" }, " where it can ask", where]];
}

/** What the provider wants, or what it has against the answer. */
function problemOf({ challenge, code }: Step): string {
  const { name, asks, refused } = challenge;
  if (code === "NEW_PASSWORD_REJECTED") return `the provider refused the new password (${refused})`;
  if (code === "CODE_REJECTED") return `the provider rejected the code (${refused})`;
  const prompts = asks.map(({ prompt }) => prompt.replace(/:$/, "")).join(", ");
  const details = prompts === "" ? name : `${name}: ${shortened(prompts, MAX_LIST_LENGTH)}`;
  return `the provider asks for a further step (${details})`;
}

/** The error of a step whose time is over. */
function expired({ challenge }: Step, why: string): ChallengeError {
  return challengeError(
    "CHALLENGE_EXPIRED",
    `Cannot log in: the step ${challenge.name} can be answered no more (${why})`,
    LOGIN_AGAIN,
    challenge,
  );
}
