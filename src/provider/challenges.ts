/**
 * The further steps of a login. Each entry lists the values that an answer must contain, or says
 * what to do if this module cannot answer the step.
 */
import { PASSWORD_FLOW } from "./requests.ts";
import type { IssuedChallenge } from "./protocol.ts";
import { typeError } from "../errors/errors.ts";
import type { Advice } from "../errors/advice.ts";
import { parsedJson } from "../platform/json.ts";
import { withoutOuterBreaks } from "../platform/secret.ts";

/** A value that the answer to a challenge must contain. */
export interface ChallengeAsk {
  /** The name of the value in the answer, such as `SMS_MFA_CODE` or `userAttributes.email`. */
  readonly name: string;
  /** The prompt for the user. If the provider sent a code, the prompt says where it was sent. */
  readonly prompt: string;
  /** Whether the input must be hidden. */
  readonly secret: boolean;
  /** The possible values, if the value is a choice. */
  readonly choices?: readonly string[];
}
/** A challenge, and the values that an answer must contain. */
export interface AskedChallenge {
  readonly name: string;
  readonly asks: readonly ChallengeAsk[];
}

/** A kind of further step. */
interface StepKind {
  /** Lists the values that an answer must contain; empty if this module cannot answer the step. */
  asks?(issued: IssuedChallenge, username: string): readonly ChallengeAsk[];
  /** Why this module cannot answer the step, and what the support channel can change. */
  readonly elsewhere?: { readonly reason: string; readonly ticket?: string };
  /**
   * Whether the step sets up an authenticator app with a new key. The app's first code is verified
   * before the answer is sent.
   */
  readonly needsKey?: true;
  /** Whether the account has a new password after the step. */
  readonly replacesPassword?: true;
}

export const APP_CODE = "SOFTWARE_TOKEN_MFA_CODE";

function sentCode(name: string, way: string): StepKind {
  return {
    asks: ({ parameters: { CODE_DELIVERY_DESTINATION: to } }) => [
      { name, prompt: `Code that was sent ${way}${to ? ` to ${to}` : ""}:`, secret: true },
    ],
  };
}

const REMEMBERED_DEVICE: StepKind = {
  elsewhere: {
    reason: "it needs SRP with a remembered device, which this module does not support",
    ticket: "to switch off remembered devices for the user pool",
  },
};

/** The further steps, keyed by the provider's names for them. */
const STEPS: Readonly<Record<string, StepKind>> = {
  NEW_PASSWORD_REQUIRED: {
    replacesPassword: true,
    asks: ({ parameters, attributes }, username) => {
      const missing = listIn(parameters.requiredAttributes)
        .map((each) => each.replace(/^userAttributes\./, ""))
        .filter((each) => !attributes.includes(each));
      return [
        { name: "NEW_PASSWORD", prompt: `New password of ${username}:`, secret: true },
        ...missing.map((each) => {
          const what = each.replaceAll("_", " ");
          return {
            name: `userAttributes.${each}`,
            prompt: `${what} of ${username}, which the provider requires:`,
            secret: false,
          };
        }),
      ];
    },
  },
  SMS_MFA: sentCode("SMS_MFA_CODE", "by SMS"),
  SMS_OTP: sentCode("SMS_OTP_CODE", "by SMS"),
  EMAIL_OTP: sentCode("EMAIL_OTP_CODE", "by e-mail"),
  SOFTWARE_TOKEN_MFA: {
    asks: ({ parameters: { FRIENDLY_DEVICE_NAME: device } }) => [
      appCode(`Code from your authenticator app${device ? ` (${device})` : ""}:`),
    ],
  },
  SELECT_MFA_TYPE: {
    asks: ({ parameters }) => {
      const choices = listIn(parameters.MFAS_CAN_CHOOSE);
      const ask = { name: "ANSWER", prompt: "How to get a code:", secret: false };
      return [choices.length > 0 ? { ...ask, choices } : ask];
    },
  },
  MFA_SETUP: {
    needsKey: true,
    asks: ({ parameters: { MFAS_CAN_SETUP: possible } }) => {
      const byApp = possible === undefined || listIn(possible).includes("SOFTWARE_TOKEN_MFA");
      return byApp ? [appCode("Code that the authenticator app shows for the new key:")] : [];
    },
    elsewhere: {
      reason: "no authenticator app can be set up for this account",
      ticket: "to register the account's phone number or e-mail address",
    },
  },
  CUSTOM_CHALLENGE: {
    asks: ({ parameters }) => {
      const shown = Object.entries(parameters)
        .filter(([name]) => !OF_EVERY_STEP.includes(name))
        .map(([name, value]) => `${name}: ${value}`).join(", ");
      const question = shown ? ` (${shown})` : "";
      const prompt = `Answer to the provider's question${question}:`;
      // Only the provider knows whether the answer is a secret, so the input is hidden.
      return [{ name: "ANSWER", prompt, secret: true }];
    },
  },
  PASSWORD_VERIFIER: {
    elsewhere: {
      reason: "it needs SRP, which this module does not support",
      ticket: `to allow the flow ${PASSWORD_FLOW} for the app client`,
    },
  },
  DEVICE_SRP_AUTH: REMEMBERED_DEVICE,
  DEVICE_PASSWORD_VERIFIER: REMEMBERED_DEVICE,
  SELECT_CHALLENGE: {
    elsewhere: {
      reason: "the provider lets the user choose how to sign in, which needs a browser",
      ticket: "to allow a login with the password alone",
    },
  },
  WEB_AUTHN: {
    elsewhere: { reason: "a passkey needs a browser" },
  },
};

/** Parameters that every step has. */
const OF_EVERY_STEP = ["USERNAME", "USER_ID_FOR_SRP"];

/** The names of the steps that this module knows. */
export const STEP_NAMES: readonly string[] = Object.keys(STEPS);

function kindOf(name: string): StepKind {
  return Object.hasOwn(STEPS, name) ? STEPS[name] ?? {} : {};
}

/**
 * Returns the values that an answer to this challenge must contain; empty if this module cannot
 * answer the challenge.
 *
 * @param username The name that the user logs in with.
 */
export function asksOf(issued: IssuedChallenge, username: string): readonly ChallengeAsk[] {
  return kindOf(issued.name).asks?.(issued, username) ?? [];
}

/** Says why this module cannot answer a step, and what the user can do. */
export function elsewhere(name: string): Advice {
  const { reason, ticket } = kindOf(name).elsewhere ??
    { reason: "this module does not know that step" };
  const support = ticket ? `ask the support channel of your subscription ${ticket}, or ` : "";
  return {
    problem: reason,
    fix: [
      `${support}log in to the portal, choose Copy Token and run `,
      { call: "login", options: { strategy: "portal" } },
    ],
  };
}

export function needsKey({ name, asks }: AskedChallenge): boolean {
  return kindOf(name).needsKey === true && asks.length > 0;
}

export function replacesPassword({ name }: IssuedChallenge): boolean {
  return kindOf(name).replacesPassword === true;
}

function appCode(prompt: string): ChallengeAsk {
  return { name: APP_CODE, prompt, secret: true };
}

function listIn(text: string | undefined): string[] {
  const list = parsedJson(text ?? "[]");
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}

/**
 * Checks the answers of `onChallenge` and tidies them.
 *
 * @throws {TypeError} If the answers do not match what the step asks for.
 */
export function checkAnswers(
  given: unknown,
  asks: readonly ChallengeAsk[],
): Readonly<Record<string, string>> {
  const wanted = asks.map(({ name }) => name);
  const rule = `onChallenge must return { ${wanted.join(", ")} }`;
  const isObject = typeof given === "object" && given !== null;
  // A misplaced secret may be among the unknown names, so these names are not quoted.
  if (!isObject || Object.keys(given).some((each) => !wanted.includes(each))) {
    throw typeError(`${rule}, each a string, and nothing else`);
  }
  const answers = given as Readonly<Record<string, unknown>>;
  return Object.fromEntries(asks.map(({ name, choices }) => {
    const value = answers[name];
    if (typeof value !== "string" || value.trim() === "") {
      throw typeError(`${rule}; ${name} is missing or not a string`);
    }
    const answer = tidyAnswer(name, value);
    if (choices && !choices.includes(answer)) {
      throw typeError(`${rule}; ${name} must be one of ${choices.join(", ")}`);
    }
    return [name, answer];
  }));
}

/**
 * Removes line breaks around an answer, and the blanks with which apps show a code. Blanks in a
 * password are kept.
 */
export function tidyAnswer(name: string, answer: string): string {
  return name.endsWith("_CODE") ? answer.replace(/\s+/g, "") : withoutOuterBreaks(answer);
}
