import { type AuthenticatorKey, type Challenge, ChallengeError } from "./challenge.ts";
import { afterUsedCode, asksOf, elsewhere } from "../../provider/challenges.ts";
import type { ChallengeErrorCode } from "../../errors/errors.ts";
import type { IssuedChallenge } from "../../provider/protocol.ts";
import type { Secret } from "../../values/secret.ts";

/** A step that waits for an answer. */
export interface Step {
  readonly challenge: Challenge;
  /** The name by which the provider knows the user. */
  readonly username: string;
  readonly session: Secret | undefined;
  /** What an error about it is called. */
  readonly code: ChallengeErrorCode;
  /** Whether the refused code was right once. */
  readonly codeAlreadyUsed: boolean;
}

/** How often an answer to the same step may be refused. */
export const MAX_ATTEMPTS = 3;

/** A new step. */
export function stepOf(issued: IssuedChallenge, username: string): Step {
  const { name, parameters, session } = issued;
  const challenge = { name, parameters, asks: asksOf(issued, username), attempt: 1 };
  const code = "CHALLENGE_REQUIRED";
  return {
    challenge,
    username: issued.username ?? username,
    session,
    code,
    codeAlreadyUsed: false,
  };
}

/** A challenge with its key, which no output shows by chance. */
export function withKey(challenge: Challenge, value: AuthenticatorKey | undefined): Challenge {
  return value ? Object.defineProperty(challenge, "authenticator", { value }) : challenge;
}

/** @param goesOn Whether the error can still be answered. */
export function messageOf(step: Step, goesOn: boolean, isCanceled = false): string {
  const { name, asks } = step.challenge;
  if (asks.length === 0) {
    return `Cannot log in: the provider asks for a further step (${name}), and ${elsewhere(name)}`;
  }
  const wanted = asks.map((each) =>
    `${each.name.includes(".") ? JSON.stringify(each.name) : each.name}: "…"`
  ).join(", ");
  const key = step.challenge.authenticator ? ", whose key is in its challenge.authenticator" : "";
  const later = goesOn ? ` or with respond({ ${wanted} }) of this error${key}` : "";
  const how = isCanceled
    ? ", and no answer was given; run login() again"
    : "; run login() where it can ask, in a notebook or a terminal";
  return `Cannot log in: ${problemOf(step)}${how}, or answer with onChallenge${later}`;
}

/** What the provider wants, or what it has against the answer. */
export function problemOf({ challenge, code, codeAlreadyUsed }: Step): string {
  const { name, asks, refused } = challenge;
  if (code === "NEW_PASSWORD_REJECTED") return `the provider refused the new password (${refused})`;
  if (code === "CODE_REJECTED") {
    return `the provider rejected the code (${refused})${
      codeAlreadyUsed ? `; ${afterUsedCode(challenge)}` : ""
    }`;
  }
  const prompts = asks.map(({ prompt }) => prompt.replace(/:$/, "")).join(", ");
  return `the provider asks for a further step (${name}: ${prompts})`;
}

/** The error of a step that cannot be answered, because nothing goes on after it. */
export function unanswered(issued: IssuedChallenge, username: string): ChallengeError {
  const step = stepOf(issued, username);
  return new ChallengeError(step.code, messageOf(step, false), step.challenge);
}

/** The error of a step whose time is over. */
export function expired({ challenge }: Step, why: string): ChallengeError {
  return new ChallengeError(
    "CHALLENGE_EXPIRED",
    `Cannot log in: the step ${challenge.name} can be answered no more (${why}); run login() again`,
    challenge,
  );
}
