/**
 * Checks the settings before a request, and the response to the request. Each call creates only the
 * schemas that it needs. The schema library may have to be downloaded, so this file is loaded
 * before anything is sent.
 */
import * as z from "npm:zod@4.6.7/mini";
import type {
  IssuedChallenge,
  IssuedTokens,
  Outcome,
  ProviderRequest,
  ProviderResponse,
} from "./protocol.ts";
import { quoted, Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import { readRefusal } from "./read_refusal.ts";
import { parseTimeout, safeAddress, type SettingName } from "../settings/options.ts";
import { parsedJson } from "../platform/json.ts";

/** The checks of settings before a request. The other settings are checked where they are used. */
const SETTING_CHECKS = {
  authUrl: () =>
    address("https://login.example.com").check(
      z.refine((text) => !/[?#]/.test(text), "must not contain a query or a fragment"),
    ),
  provider: () => {
    const problem = 'must be "vendor", "aws" or an object { targetHeader, service, contentType }';
    const word = (shape: RegExp) => z.string(problem).check(z.regex(shape, problem));
    return z.object({
      targetHeader: word(/^[A-Za-z0-9-]+$/),
      service: word(/^[\w.-]+$/),
      contentType: word(/^[\w.+-]+\/[\w.+-]+$/),
    }, problem);
  },
  clientId: () => visibleWord(),
  userPoolId: () => visibleWord(),
  refreshSecretHash: () => z.enum(["auto", "send", "omit"], 'must be "auto", "send" or "omit"'),
  portalUrl: () => address("https://portal.example.com"),
  timeoutMs: () =>
    z.pipe(
      z.transform(parseTimeout),
      z.number("must be a whole number of milliseconds, from 1 to one hour"),
    ),
} satisfies Partial<Record<SettingName, () => z.ZodMiniType>>;

type Checked = {
  readonly [Name in keyof typeof SETTING_CHECKS]: z.output<
    ReturnType<typeof SETTING_CHECKS[Name]>
  >;
};

/** The checked values of the settings that are set. Every request needs those in `Pick`. */
type CheckedSettings = Pick<Checked, "authUrl" | "clientId" | "userPoolId"> & Partial<Checked>;

/**
 * Checks each setting that has a value and a check.
 *
 * @param valueOf Returns the text of a setting, or a value built from several settings; `undefined`
 * if the setting is not set.
 * @returns The checked values, and the problems of the settings that failed the check.
 */
export function checkSettings(
  valueOf: (name: SettingName) => unknown,
): { readonly values: CheckedSettings; readonly problems: ReadonlyMap<SettingName, string> } {
  const values: Partial<Record<SettingName, unknown>> = {};
  const problems = new Map<SettingName, string>();
  for (const [key, check] of Object.entries(SETTING_CHECKS)) {
    const name = key as keyof Checked;
    const value = valueOf(name);
    if (value === undefined) continue;
    const { data, error } = z.safeParse<z.ZodMiniType>(check(), value);
    if (error) problems.set(name, error.issues[0]?.message ?? "cannot be used");
    else values[name] = data;
  }
  return { values: values as CheckedSettings, problems };
}

type Sent = Pick<ProviderRequest, "flow" | "secrets">;

/**
 * Reads a response of the token endpoint (section 2.2). Optional members may be missing or have
 * another type; unknown members are ignored. A response that cannot be used becomes a refusal that
 * says why.
 */
export function readResponse(sent: Sent, response: ProviderResponse): Outcome {
  const json = parsedJson(response.text);
  const fields = isObject(json) ? json : undefined;
  const session = secretIn(fields?.Session);
  if (response.status < 200 || response.status > 299) {
    return { ...readRefusal(sent, response, json), session };
  }
  const done: Outcome = { kind: "done", fields: fields ?? {}, session };
  if (sent.flow === "device" || sent.flow === "sign-out") {
    return fields || response.text.trim() === "" ? done : readRefusal(sent, response, json);
  }
  const { AuthenticationResult, ChallengeName, ChallengeParameters } = fields ?? {};
  if (AuthenticationResult) {
    const { data, error } = z.safeParse(issuedTokens(), AuthenticationResult);
    if (data) return { kind: "tokens", tokens: tokensIn(data) };
    const [issue] = error.issues;
    const problem = `AuthenticationResult: ${issue?.path.join(".")} ${issue?.message}`;
    return readRefusal(sent, response, json, problem);
  }
  if (ChallengeName && typeof ChallengeName === "string") {
    return { ...challengeIn(sent, ChallengeName, ChallengeParameters), session };
  }
  // The operations that set up an authenticator app return neither tokens nor a challenge.
  if (fields && sent.flow === "challenge") return done;
  return readRefusal(sent, response, json, fields && "neither tokens nor a challenge");
}

/** The message never quotes the address, which may contain a password. */
function address(example: string) {
  return z.string().check(z.refine(
    (text) => safeAddress(text) !== undefined,
    `must be an https: address without user name and password, such as ${example}; ` +
      "http: is allowed only for localhost",
  ));
}

function visibleWord() {
  const problem = "must be a text of visible ASCII characters";
  return z.string(problem).check(z.regex(VISIBLE_ASCII, problem));
}

function issuedTokens() {
  const tokens = { AccessToken: visibleWord(), RefreshToken: z.nullish(visibleWord()) };
  return z.looseObject(tokens);
}

function tokensIn(result: z.output<ReturnType<typeof issuedTokens>>): IssuedTokens {
  const { AccessToken, RefreshToken, ExpiresIn, NewDeviceMetadata } = result;
  return {
    accessToken: new Secret(AccessToken),
    refreshToken: RefreshToken ? new Secret(RefreshToken) : undefined,
    expiresIn: secondsIn(ExpiresIn),
    device: deviceIn(NewDeviceMetadata),
  };
}

/** Reads a lifetime; returns `undefined` for anything but a positive number. */
function secondsIn(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 && value <= 1e9 ? value : undefined;
}

function deviceIn(metadata: unknown): IssuedTokens["device"] {
  const { DeviceKey, DeviceGroupKey } = isObject(metadata) ? metadata : {};
  const key = secretIn(DeviceKey);
  return key && { key, groupKey: secretIn(DeviceGroupKey) ?? new Secret("") };
}

function secretIn(value: unknown): Secret | undefined {
  return typeof value === "string" && VISIBLE_ASCII.test(value) ? new Secret(value) : undefined;
}

function challengeIn(
  { secrets }: Sent,
  name: string,
  given: unknown,
): Omit<IssuedChallenge, "session"> {
  const parameters = isObject(given) ? given : {};
  const quote = (text: string, length: number) => quoted(text, secrets, length);
  const shown = Object.entries(parameters).map(([each, value]) => [
    quote(each, 100),
    quote(typeof value === "string" ? value : JSON.stringify(value), 1_000),
  ]);
  // These values are used, not shown, so they are read as the provider sent them.
  const { USERNAME, USER_ID_FOR_SRP, userAttributes } = parameters;
  const listed = typeof userAttributes === "string" ? parsedJson(userAttributes) : userAttributes;
  const attributes = isObject(listed) ? listed : {};
  return {
    kind: "challenge",
    name: quote(name, 100),
    parameters: Object.fromEntries(shown),
    attributes: Object.keys(attributes).filter((each) => attributes[each]),
    username: [USERNAME, USER_ID_FOR_SRP].find((each): each is string =>
      typeof each === "string" && each !== ""
    ),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
