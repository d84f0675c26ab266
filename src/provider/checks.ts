/**
 * Everything that comes from outside is checked here: settings before a request, and its answer.
 * Loaded before anything is sent, because the schema library may have to be fetched first.
 */
import * as z from "npm:zod@^4/mini";
import { isQuotableStepWord } from "./challenges.ts";
import type {
  IssuedChallenge,
  IssuedTokens,
  Outcome,
  ProviderAnswer,
  ProviderRequest,
} from "./protocol.ts";
import { redact, Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import { readRefusal } from "./read_refusal.ts";
import {
  type CheckedSettings,
  type Schemas,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
} from "../settings/options.ts";

const SCHEMAS: Schemas = {
  _default: z._default,
  enum: z.enum,
  instanceof: z.instanceof,
  number: z.number,
  object: z.object,
  optional: z.optional,
  pipe: z.pipe,
  refine: z.refine,
  regex: z.regex,
  string: z.string,
  transform: z.transform,
};

/**
 * Checks what a request needs, setting by setting, as their table says.
 *
 * @param valueOf What a setting came to: its text, or what was made of several.
 * @returns The checked values, or what is wrong, by the name of the setting.
 */
export function checkValues(
  valueOf: (name: SettingName) => unknown,
): CheckedSettings | Map<SettingName, string> {
  const values: Partial<Record<SettingName, unknown>> = {};
  const problems = new Map<SettingName, string>();
  for (const name of SETTING_NAMES) {
    const schema = SETTINGS[name].check?.(SCHEMAS);
    if (schema === undefined) continue;
    const checked = z.safeParse(schema, valueOf(name));
    if (checked.success) values[name] = checked.data;
    else problems.set(name, checked.error.issues[0]?.message ?? "cannot be used");
  }
  return problems.size > 0 ? problems : values as CheckedSettings;
}

/**
 * Attributes of a user (OpenID Connect Core, 5.1). They are shown even if a password contains one of
 * them.
 */
const ATTRIBUTE =
  /^(userAttributes\.)?(address|birthdate|email|family_name|gender|given_name|locale|middle_name|name|nickname|phone_number|picture|preferred_username|profile|updated_at|website|zoneinfo)$/;

const token = z.string("expected a string").check(
  z.regex(VISIBLE_ASCII, "expected a token of visible ASCII"),
);
/** Also what says no more than that something is done, if it says anything. */
const anyObject = z.record(z.string(), z.unknown());
const optional = <T extends z.ZodMiniType>(schema: T) => z.catch(z.nullish(schema), undefined);
const seconds = z.pipe(
  z.union([z.number(), z.pipe(z.string().check(z.regex(/^\d+$/)), z.transform(Number))]),
  z.number().check(z.positive(), z.maximum(1e9)),
);
const stepSession = optional(token);
const authenticationResult = z.object({
  AccessToken: token,
  RefreshToken: z.nullish(token),
  ExpiresIn: z.catch(z.optional(seconds), undefined),
  NewDeviceMetadata: z.catch(
    z.nullish(z.object({ DeviceKey: token, DeviceGroupKey: z.catch(z.string(), "") })),
    undefined,
  ),
}, "expected an object");
const answered = z.object({
  AuthenticationResult: z.nullish(authenticationResult),
  ChallengeName: z.nullish(z.string().check(z.minLength(1), z.maxLength(200))),
  ChallengeParameters: optional(anyObject),
  Session: stepSession,
  SecretCode: optional(z.string().check(z.regex(/^[A-Z2-7]{8,}=*$/i))),
  Status: optional(z.string()),
});
const refusedStep = z.object({ Session: stepSession });

type Sent = Pick<ProviderRequest, "flow" | "secrets">;

/**
 * Reads an answer of the token endpoint (section 2.2). Members that are not needed may be missing or
 * of another type, unknown ones are ignored. An answer that cannot be used becomes a refusal that says
 * why.
 */
export function readAnswer(sent: Sent, answer: ProviderAnswer): Outcome {
  const json = parsed(answer.text);
  if (answer.status < 200 || answer.status > 299) {
    const { Session } = z.safeParse(refusedStep, json).data ?? {};
    return { ...readRefusal(sent, answer, json), session: secretOf(Session) };
  }
  if (sent.flow === "device" || sent.flow === "sign-out") {
    const isDone = answer.text.trim() === "" || z.safeParse(anyObject, json).success;
    return isDone ? { kind: "done" } : readRefusal(sent, answer, json);
  }
  const checked = z.safeParse(answered, json);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const place = issue?.path.join(".");
    return readRefusal(sent, answer, json, place ? `${place}: ${issue?.message}` : undefined);
  }
  const { AuthenticationResult, ChallengeName, SecretCode, Status } = checked.data;
  const session = secretOf(checked.data.Session);
  if (AuthenticationResult) return { kind: "tokens", tokens: tokensIn(AuthenticationResult) };
  if (ChallengeName) {
    const parameters = checked.data.ChallengeParameters ?? {};
    return { ...challengeIn(sent, ChallengeName, parameters), session };
  }
  if (sent.flow === "challenge" && SecretCode) {
    return { kind: "key", key: new Secret(SecretCode), session };
  }
  if (sent.flow === "challenge" && Status === "SUCCESS") return { kind: "verified", session };
  if (sent.flow === "challenge" && Status === "ERROR") {
    const message = "Status: ERROR";
    return {
      kind: "refused",
      code: "CODE_REJECTED",
      repeatable: false,
      isFinal: false,
      seen: message,
      message,
      status: answer.status,
      session,
    };
  }
  return readRefusal(sent, answer, json, "neither tokens nor a challenge");
}

function secretOf(text: string | null | undefined): Secret | undefined {
  return text ? new Secret(text) : undefined;
}

function tokensIn(result: z.output<typeof authenticationResult>): IssuedTokens {
  const { AccessToken, RefreshToken, ExpiresIn, NewDeviceMetadata: device } = result;
  return {
    accessToken: new Secret(AccessToken),
    refreshToken: secretOf(RefreshToken),
    expiresIn: ExpiresIn,
    device: device
      ? { key: new Secret(device.DeviceKey), groupKey: new Secret(device.DeviceGroupKey) }
      : undefined,
  };
}

/**
 * No step has as many parameters. Those of a provider that sends more would make an error that nobody
 * can read.
 */
const MAX_PARAMETERS = 30;

function challengeIn(
  { secrets }: Sent,
  name: string,
  parameters: Readonly<Record<string, unknown>>,
): Omit<IssuedChallenge, "session"> {
  const quote = (text: string, length: number) => redact(text, secrets, length);
  const quoteName = (text: string) => isQuotableStepWord(text) ? text : quote(text, 100);
  const quoteValue = (value: unknown) =>
    knownList(value) ?? quote(typeof value === "string" ? value : JSON.stringify(value), 1_000);
  const shown = Object.entries(parameters).slice(0, MAX_PARAMETERS).map(([each, value]) => [
    quoteName(each),
    quoteValue(value),
  ]);
  // What is computed from them is read as it was sent: a password may contain a part of it.
  const { USERNAME, USER_ID_FOR_SRP, userAttributes } = parameters;
  const given = typeof userAttributes === "string" ? parsed(userAttributes) : userAttributes;
  const attributes = z.safeParse(anyObject, given).data ?? {};
  return {
    kind: "challenge",
    name: quoteName(name),
    parameters: Object.fromEntries(shown),
    attributes: Object.keys(attributes).filter((each) => attributes[each]),
    username: [USERNAME, USER_ID_FOR_SRP].find((each): each is string =>
      typeof each === "string" && each !== ""
    ),
  };
}

/**
 * A parameter that is a list of known names only. Such a list is read and answered, so it stays whole;
 * each name is in it once. `undefined`: it is something else.
 */
function knownList(value: unknown): string | undefined {
  const list = typeof value === "string" ? parsed(value) : undefined;
  const isKnown = Array.isArray(list) &&
    list.every((each) =>
      typeof each === "string" && (isQuotableStepWord(each) || ATTRIBUTE.test(each))
    );
  return isKnown ? JSON.stringify([...new Set(list)]) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
