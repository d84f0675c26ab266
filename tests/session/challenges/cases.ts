/** Logins with further steps, as data for each way to give the answers. */
import type { Answers } from "../../../mod.ts";
import type { NewUser, Sandbox } from "../../../src/sandbox/mod.ts";
import { type Portless, portless, type PortlessOptions } from "../../support/portless.ts";

/** A challenge of the provider, and the user's answer. */
export interface Turn {
  readonly challenge: string;
  /** The number of the answer to this challenge. Default: 1. */
  readonly attempt?: number;
  /** The text that a person reads. */
  readonly says: RegExp;
  answer(sandbox: Sandbox): Answers | Promise<Answers>;
}

/** A login with further steps. Every way to give the answers uses the same cases. */
export interface ChallengeCase {
  readonly title: string;
  readonly user: Pick<NewUser, "challenge" | "email" | "phone">;
  readonly turns: readonly Turn[];
  /** The steps of an earlier login of this user. */
  readonly earlier?: readonly Turn[];
}

/** The user name in all cases. */
export const USERNAME = "ada";

/** A random password that satisfies the provider's policy. */
export const NEW_PASSWORD = `Aa1!${crypto.randomUUID()}`;

const newest = (sandbox: Sandbox) => sandbox.codes.at(-1)?.code ?? "";

const newPassword: Turn = {
  challenge: "NEW_PASSWORD_REQUIRED",
  says: /^New password of ada:$/,
  answer: () => ({ NEW_PASSWORD }),
};
const app: Turn = {
  challenge: "SOFTWARE_TOKEN_MFA",
  says: /^Code from your authenticator app \(Authenticator\):$/,
  answer: async (sandbox) => ({ SOFTWARE_TOKEN_MFA_CODE: await sandbox.totp(USERNAME) }),
};
const setup: Turn = {
  ...app,
  challenge: "MFA_SETUP",
  says: /Code that the authenticator app shows for the new key:$/,
};
const mail: Turn = {
  challenge: "EMAIL_OTP",
  says: /^Code that was sent by e-mail to a\*\*\*@e\*\*\*:$/,
  // The code contains blanks, as if it were copied from an e-mail.
  answer: (sandbox) => ({ EMAIL_OTP_CODE: ` ${newest(sandbox).replace(/(.{4})/, "$1 ")}` }),
};
const sms: Turn = {
  challenge: "SMS_MFA",
  says: /^Code that was sent by SMS to \+\*{7}0100:$/,
  answer: (sandbox) => ({ SMS_MFA_CODE: newest(sandbox) }),
};
const select: Turn = {
  challenge: "SELECT_MFA_TYPE",
  says: /^How to get a code: 1 SOFTWARE_TOKEN_MFA, 2 SMS_MFA, 3 EMAIL_OTP$/,
  answer: () => ({ ANSWER: "EMAIL_OTP" }),
};

const phone = "+15555550100";
const email = "ada@example.org";

/** Every challenge that can be answered, alone and in chains. */
export const CHALLENGE_CASES: readonly ChallengeCase[] = [
  {
    title: "a new password at the second attempt and an attribute",
    user: { challenge: "NEW_PASSWORD_REQUIRED" },
    turns: [
      {
        ...newPassword,
        answer: () => ({ NEW_PASSWORD: "short", "userAttributes.email": email }),
      },
      {
        ...newPassword,
        attempt: 2,
        says:
          /^The provider refused the new password \(Password did not conform with policy: Password not long enough\)\. New password of ada:$/,
        answer: () => ({ NEW_PASSWORD, "userAttributes.email": email }),
      },
    ],
  },
  { title: "a code by SMS", user: { challenge: "SMS_MFA", phone }, turns: [sms] },
  {
    title: "a code from an authenticator app",
    user: { challenge: "SOFTWARE_TOKEN_MFA" },
    turns: [app],
  },
  {
    title: "a choice of the method and a code by that method",
    user: { challenge: "SELECT_MFA_TYPE", phone, email },
    turns: [select, mail],
  },
  {
    title: "a custom question with a wrong and a correct answer",
    user: { challenge: "CUSTOM_CHALLENGE" },
    turns: ["no", "Weather Data Platform"].map((ANSWER) => ({
      challenge: "CUSTOM_CHALLENGE",
      says: /^Answer to the provider's question \(question: What is the name of the platform\?\):$/,
      answer: () => ({ ANSWER }),
    })),
  },
  {
    title: "a new password, then the setup of an authenticator app",
    user: { challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"], email },
    turns: [
      newPassword,
      { ...setup, answer: () => ({ SOFTWARE_TOKEN_MFA_CODE: "000000" }) },
      {
        ...setup,
        attempt: 2,
        says: /rejected the code \(.*\); a code works only once\. Code that the auth/,
      },
    ],
  },
  {
    title: "a wrong code, a used code and the correct code",
    earlier: [mail],
    user: { challenge: "EMAIL_OTP", email },
    turns: [
      { ...mail, answer: () => ({ EMAIL_OTP_CODE: "0" }) },
      {
        ...mail,
        attempt: 2,
        says: /^The provider rejected the code \(Invalid code or auth state for the user\); a code/,
        answer: (sandbox) => ({ EMAIL_OTP_CODE: sandbox.codes.at(0)?.code ?? "" }),
      },
      {
        ...mail,
        attempt: 3,
        says: /^The provider rejected the code \(.*\); a code works only once\. Code that/,
      },
    ],
  },
];

/** The text that a person types for an answer: a new password twice, a choice by its number. */
export function typedFor(answers: Answers): string[] {
  return Object.entries(answers).flatMap(([name, answer]) => {
    if (name === "NEW_PASSWORD") return [answer, answer];
    return [answer === "EMAIL_OTP" ? "3" : answer];
  });
}

/** Makes a session that logs in as this user of the sandbox. */
export function worldOf(user: ChallengeCase["user"], options: PortlessOptions = {}) {
  const password = crypto.randomUUID();
  const session = { username: USERNAME, password, ...options.session };
  const world = portless({ file: true, ...options, session });
  world.sandbox.addUser({ username: USERNAME, password, ...user });
  return world;
}

/** A user whose logins require a code sent by e-mail. */
export const BY_MAIL: ChallengeCase["user"] = { challenge: "EMAIL_OTP", email: "ada@example.org" };

/** The outcome of an answer: the code of its error, or the state. */
export async function outcome(answered: Promise<{ state: string }>): Promise<string> {
  return await answered.then(({ state }) => state, (error) => error.code ?? error.name);
}

/** The right answer to `BY_MAIL`. */
export function codeByMail({ sandbox }: Portless): Answers {
  return { EMAIL_OTP_CODE: newest(sandbox) };
}
