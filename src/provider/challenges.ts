/**
 * This folder speaks to the identity provider. It may import settings, runtime and values.
 *
 * Here are the further steps of a login: what each asks for, and the requests that answer it.
 */
import { type Delivery, send, type Waiters } from "./send.ts";
import { PASSWORD_FLOW, request, secretHash } from "./initiate_auth.ts";
import { loginTokens, type TokenDelivery } from "./token_request.ts";
import type { IssuedChallenge, ProviderSettings } from "./protocol.ts";
import { Secret } from "../values/secret.ts";
import type { World } from "../runtime/world.ts";
import { closest } from "../values/wording.ts";
import { typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/fix.ts";

/** Something that the answer to a challenge must have. */
export interface ChallengeAsk {
  /** Its name in the answer, such as `SMS_MFA_CODE` or `userAttributes.email`. */
  readonly name: string;
  /** What to ask a person; says where a code was sent. */
  readonly prompt: string;
  /** Whether it must not be shown while it is typed. */
  readonly secret: boolean;
  /** What it can be, where it is a choice. */
  readonly choices?: readonly string[];
}

/** A challenge, and what its answer must have. */
interface AskedChallenge {
  readonly name: string;
  readonly asks: readonly ChallengeAsk[];
}

/** The steps in which a new password is set, and an authenticator app set up. */
const NEW_PASSWORD_REQUIRED = "NEW_PASSWORD_REQUIRED";
const MFA_SETUP = "MFA_SETUP";
const APP_CODE = "SOFTWARE_TOKEN_MFA_CODE";

/** Whether the step needs a key for an authenticator app first. */
export function needsKey({ name, asks }: AskedChallenge): boolean {
  return name === MFA_SETUP && asks.length > 0;
}

/** Whether the password that began this login is not the account's any more when it ends. */
export function replacesPassword({ name }: IssuedChallenge): boolean {
  return name === NEW_PASSWORD_REQUIRED;
}

/** A step that cannot be answered here. */
interface AnsweredElsewhere {
  readonly reason: string;
  /** What the support channel can do about it. */
  readonly ticket?: string;
}

/** Steps that need SRP, a browser, or an administrator. */
const ELSEWHERE: Readonly<Record<string, AnsweredElsewhere>> = {
  [MFA_SETUP]: {
    reason: "no authenticator app can be set up for this account",
    ticket: "to register its phone number or e-mail address",
  },
  PASSWORD_VERIFIER: {
    reason: "it needs SRP, which this module does not speak",
    ticket: `to allow the flow ${PASSWORD_FLOW} for the app client`,
  },
  DEVICE_SRP_AUTH: {
    reason: "it needs SRP with a remembered device, which this module does not speak",
    ticket: "to switch off remembered devices for the user pool",
  },
  SELECT_CHALLENGE: {
    reason: "the provider lets the user choose how to sign in, which needs a browser",
    ticket: "for a sign-in by password alone",
  },
  WEB_AUTHN: { reason: "a passkey needs a browser" },
};

/** Why a step cannot be answered here, and what to do about it. */
export function elsewhere(name: string): { readonly reason: string; readonly fix: Fix } {
  const known = name === "DEVICE_PASSWORD_VERIFIER" ? "DEVICE_SRP_AUTH" : name;
  const row = Object.hasOwn(ELSEWHERE, known) ? ELSEWHERE[known] : undefined;
  const { reason, ticket } = row ?? { reason: "this module does not know that step" };
  const support = ticket ? `ask the support channel of your subscription ${ticket}, or ` : "";
  return {
    reason,
    fix: [
      `${support}log in to the portal, choose Copy Token and run `,
      { call: "login", options: { strategy: "portal" } },
    ],
  };
}

/**
 * What an answer to this challenge must have; nothing: it cannot be answered here.
 *
 * @param username The name that the user logs in with.
 */
export function asksOf(issued: IssuedChallenge, username: string): readonly ChallengeAsk[] {
  const { name, parameters } = issued;
  switch (name) {
    case NEW_PASSWORD_REQUIRED:
      return [
        { name: "NEW_PASSWORD", prompt: `New password of ${username}:`, secret: true },
        ...listIn(parameters.requiredAttributes)
          .map((each) => each.replace(/^userAttributes\./, ""))
          .filter((each) => !issued.attributes.includes(each)).map((each) => ({
            name: `userAttributes.${each}`,
            prompt: `${
              each.replaceAll("_", " ")
            } of ${username}, which the provider wants to know:`,
            secret: false,
          })),
      ];
    case "SMS_MFA":
    case "SMS_OTP":
      return [sentCode(name, "by SMS", parameters)];
    case "EMAIL_OTP":
      return [sentCode(name, "by e-mail", parameters)];
    case "SOFTWARE_TOKEN_MFA": {
      const device = parameters.FRIENDLY_DEVICE_NAME;
      return [appCode(`Code from your authenticator app${device ? ` (${device})` : ""}:`)];
    }
    case "SELECT_MFA_TYPE": {
      const choices = listIn(parameters.MFAS_CAN_CHOOSE);
      const prompt = "How to get a code:";
      return [{ name: "ANSWER", prompt, secret: false, ...(choices.length > 0 && { choices }) }];
    }
    case MFA_SETUP: {
      const possible = parameters.MFAS_CAN_SETUP;
      const byApp = possible === undefined || listIn(possible).includes("SOFTWARE_TOKEN_MFA");
      return byApp ? [appCode("Code that the authenticator app shows for the new key:")] : [];
    }
    case "CUSTOM_CHALLENGE": {
      const told = Object.entries(parameters)
        .filter(([each]) => each !== "USERNAME" && each !== "USER_ID_FOR_SRP")
        .map(([each, value]) => `${each}: ${value}`).join(", ");
      const prompt = `Answer to the provider's question${told ? ` (${told})` : ""}:`;
      // Whether it is a secret only the provider knows.
      return [{ name: "ANSWER", prompt, secret: true }];
    }
    default:
      return [];
  }
}

function appCode(prompt: string): ChallengeAsk {
  return { name: APP_CODE, prompt, secret: true };
}

/** What to do about a code that was right once: an app shows another one by itself. */
export function afterUsedCode({ asks }: AskedChallenge): string {
  return asks.some(({ name }) => name === APP_CODE)
    ? "wait for the next one"
    : "take the newest one that was sent";
}

function sentCode(
  name: string,
  way: string,
  parameters: Readonly<Record<string, string>>,
): ChallengeAsk {
  const to = parameters.CODE_DELIVERY_DESTINATION;
  const prompt = `Code that was sent ${way}${to ? ` to ${to}` : ""}:`;
  return { name: `${name}_CODE`, prompt, secret: true };
}

function listIn(text: string | undefined): string[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/**
 * The answers, tidied.
 *
 * @throws {TypeError} If they are not those that are asked for.
 */
export function checkAnswers(
  given: unknown,
  asks: readonly ChallengeAsk[],
  functionName: string,
): Readonly<Record<string, string>> {
  const wanted = asks.map(({ name }) => name);
  const takes = `${
    functionName === "onChallenge" ? "onChallenge must give" : `${functionName} takes`
  } { ${wanted.join(", ")} }`;
  if (typeof given !== "object" || given === null) throw typeError(`${takes}, each a text`);
  const answers = given as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(answers).filter((each) => !wanted.includes(each))) {
    const meant = closest(name, wanted);
    throw typeError(meant === undefined ? `${takes}, and nothing else` : `${takes}, not ${name}`);
  }
  return Object.fromEntries(asks.map(({ name, choices }) => {
    const answer = answers[name];
    if (typeof answer !== "string" || answer.trim() === "") {
      throw typeError(`${takes}; ${name} is missing or is no text`);
    }
    if (choices && !choices.includes(answer)) {
      throw typeError(`${takes}; ${name} must be one of ${choices.join(", ")}`);
    }
    return [name, tidyAnswer(name, answer)];
  }));
}

/** Codes are shown and copied with blanks; a password is taken as it is. */
export function tidyAnswer(name: string, answer: string): string {
  return name.endsWith("_CODE") ? answer.replace(/\s+/g, "") : answer;
}

/** What an answer to a challenge is sent with. */
export interface StepRequest {
  readonly provider: ProviderSettings;
  readonly world: World;
  readonly session: Secret | undefined;
}

/** Asks for a key for an authenticator app. */
export function requestKey(step: StepRequest, waiters: Waiters): Promise<Delivery> {
  return sendStep(step, "AssociateSoftwareToken", {}, [], waiters);
}

/** Proves that the authenticator app has the key. */
export function requestVerification(
  step: StepRequest,
  code: string,
  waiters: Waiters,
): Promise<Delivery> {
  return sendStep(step, "VerifySoftwareToken", { UserCode: code }, [new Secret(code)], waiters);
}

/**
 * Answers a challenge.
 *
 * @param username The name by which the provider knows the user.
 * @param answers By the names that {@linkcode asksOf} gave; those of a verified key are left out.
 */
export async function requestAnswer(
  step: StepRequest,
  challenge: AskedChallenge,
  username: string,
  answers: Readonly<Record<string, string>>,
  waiters: Waiters,
): Promise<TokenDelivery> {
  const { provider, world } = step;
  const { name, asks } = challenge;
  const hash = await secretHash(provider, username);
  const fields = {
    ClientId: provider.clientId,
    ChallengeName: name,
    ChallengeResponses: {
      USERNAME: username,
      ...(hash && { SECRET_HASH: hash.reveal() }),
      ...(name === MFA_SETUP ? {} : answers),
    },
  };
  const secrets = asks.filter(({ secret }) => secret).map((ask) => answers[ask.name] ?? "")
    // What is shorter stands in any text.
    .filter((each) => each.length > 3);
  const hidden = [hash, ...secrets.map((each) => new Secret(each))];
  const delivery = await sendStep(step, "RespondToAuthChallenge", fields, hidden, waiters);
  return await loginTokens(provider, delivery, world, waiters.signal);
}

function sendStep(
  { provider, world, session }: StepRequest,
  operation: string,
  fields: Readonly<Record<string, unknown>>,
  secrets: readonly (Secret | undefined)[],
  waiters: Waiters,
): Promise<Delivery> {
  const body = { ...fields, ...(session && { Session: session.reveal() }) };
  const sent = request(provider, "challenge", operation, body, [session, ...secrets]);
  return send(sent, world, provider.timeoutMs, waiters);
}
