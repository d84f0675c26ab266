/** The further steps of a login, and the values that an answer to each must contain. */
import type { IssuedChallenge } from "./protocol.ts";
import { typeError } from "../errors/errors.ts";
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

/** Lists the values that an answer must contain; empty if this module cannot answer the step. */
type Asks = (issued: IssuedChallenge, username: string) => readonly ChallengeAsk[];

export const APP_CODE = "SOFTWARE_TOKEN_MFA_CODE";

function sentCode(name: string, way: string): Asks {
  return ({ parameters: { CODE_DELIVERY_DESTINATION: to } }) => [
    { name, prompt: `Code that was sent ${way}${to ? ` to ${to}` : ""}:`, secret: true },
  ];
}

/**
 * The further steps that this module can answer, keyed by the provider's names for them. The others
 * need SRP or a browser.
 */
const STEPS: ReadonlyMap<string, Asks> = new Map<string, Asks>([
  ["NEW_PASSWORD_REQUIRED", ({ parameters, attributes }, username) => {
    const missing = listIn(parameters.requiredAttributes)
      .map((each) => each.replace(/^userAttributes\./, ""))
      .filter((each) => !attributes.includes(each));
    return [
      { name: "NEW_PASSWORD", prompt: `New password of ${username}:`, secret: true },
      ...missing.map((each) => ({
        name: `userAttributes.${each}`,
        prompt: `${each.replaceAll("_", " ")} of ${username}, which the provider requires:`,
        secret: false,
      })),
    ];
  }],
  ["SMS_MFA", sentCode("SMS_MFA_CODE", "by SMS")],
  ["SMS_OTP", sentCode("SMS_OTP_CODE", "by SMS")],
  ["EMAIL_OTP", sentCode("EMAIL_OTP_CODE", "by e-mail")],
  ["SOFTWARE_TOKEN_MFA", ({ parameters: { FRIENDLY_DEVICE_NAME: device } }) => [
    appCode(`Code from your authenticator app${device ? ` (${device})` : ""}:`),
  ]],
  ["SELECT_MFA_TYPE", ({ parameters }) => {
    const choices = listIn(parameters.MFAS_CAN_CHOOSE);
    return [{ name: "ANSWER", prompt: "How to get a code:", secret: false, choices }];
  }],
  ["MFA_SETUP", ({ parameters: { MFAS_CAN_SETUP: possible } }) => {
    const byApp = possible === undefined || listIn(possible).includes("SOFTWARE_TOKEN_MFA");
    return byApp ? [appCode("Code that the authenticator app shows for the new key:")] : [];
  }],
  ["CUSTOM_CHALLENGE", ({ parameters }) => {
    const shown = Object.entries(parameters)
      .filter(([name]) => !OF_EVERY_STEP.includes(name))
      .map(([name, value]) => `${name}: ${value}`).join(", ");
    const question = shown ? ` (${shown})` : "";
    const prompt = `Answer to the provider's question${question}:`;
    // Only the provider knows whether the answer is a secret, so the input is hidden.
    return [{ name: "ANSWER", prompt, secret: true }];
  }],
]);

/** Parameters that every step has. */
const OF_EVERY_STEP = ["USERNAME", "USER_ID_FOR_SRP"];

/**
 * Returns the values that an answer to this challenge must contain; empty if this module cannot
 * answer the challenge.
 *
 * @param username The name that the user logs in with.
 */
export function asksOf(issued: IssuedChallenge, username: string): readonly ChallengeAsk[] {
  return STEPS.get(issued.name)?.(issued, username) ?? [];
}

/**
 * Whether the step sets up an authenticator app with a new key. The app's first code is verified
 * before the answer is sent.
 */
export function needsKey({ name }: { readonly name: string }): boolean {
  return name === "MFA_SETUP";
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
  const values = new Map<string, unknown>(Object.entries(given ?? {}));
  const answers = asks.map(({ name, choices }) => {
    const value = values.get(name);
    const answer = typeof value === "string" ? tidyAnswer(name, value) : "";
    return { name, answer, fits: choices?.includes(answer) ?? answer.trim() !== "" };
  });
  if (values.size !== asks.length || answers.some(({ fits }) => !fits)) {
    const wanted = asks.map(({ name, choices }) =>
      choices ? `${name} (one of ${choices.join(", ")})` : name
    );
    // A misplaced secret may be among the unknown names, so these names are not quoted.
    throw typeError(
      `onChallenge must return an object with exactly these strings: ${wanted.join(", ")}`,
    );
  }
  return Object.fromEntries(answers.map(({ name, answer }) => [name, answer]));
}

/**
 * Removes line breaks around an answer, and the blanks with which apps show a code. Blanks in a
 * password are kept.
 */
export function tidyAnswer(name: string, answer: string): string {
  return name.endsWith("_CODE") ? answer.replace(/\s+/g, "") : withoutOuterBreaks(answer);
}
