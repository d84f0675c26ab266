/** Reads the responses of the token endpoint. */
import type {
  IssuedChallenge,
  IssuedTokens,
  Outcome,
  ProviderRequest,
  ProviderResponse,
} from "./protocol.ts";
import { redact, Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import { readRefusal } from "./read_refusal.ts";
import { parsedJson } from "../platform/json.ts";

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
  const misfit = (problem?: string) => readRefusal(sent, response, json, problem);
  if (fields?.AuthenticationResult) {
    const tokens = tokensIn(fields.AuthenticationResult);
    return tokens ? { kind: "tokens", tokens } : misfit(MISFIT);
  }
  if (fields?.ChallengeName) {
    const { ChallengeName: name, ChallengeParameters } = fields;
    if (typeof name !== "string") return misfit("ChallengeName needs to be a string");
    return { ...challengeIn(sent, name, ChallengeParameters), session };
  }
  // The operations that set up an authenticator app return neither tokens nor a challenge.
  if (fields && sent.flow === "challenge") return done;
  return misfit(fields && "neither tokens nor a challenge");
}

const MISFIT =
  "AuthenticationResult needs AccessToken, and RefreshToken if it is set, as a string of " +
  "visible ASCII";

function tokensIn(result: unknown): IssuedTokens | undefined {
  const { AccessToken, RefreshToken, ExpiresIn, NewDeviceMetadata } = isObject(result)
    ? result
    : {};
  const accessToken = secretIn(AccessToken);
  const refreshToken = secretIn(RefreshToken);
  const isWhole = refreshToken !== undefined || RefreshToken === undefined || RefreshToken === null;
  if (accessToken === undefined || !isWhole) return undefined;
  return {
    accessToken,
    refreshToken,
    expiresIn: secondsIn(ExpiresIn),
    device: deviceIn(NewDeviceMetadata),
  };
}

/**
 * Reads a lifetime, given as a positive number or its digits; returns `undefined` for anything
 * else.
 */
function secondsIn(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 && seconds <= 1e9 ? seconds : undefined;
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
  const quote = (text: string, length: number) => redact(text, secrets, length);
  const shown = Object.entries(parameters).map(([each, value]) => [
    quote(each, 100),
    quote(typeof value === "string" ? value : JSON.stringify(value), 1_000),
  ]);
  // The next values are read before redaction, which could damage a value that shares text with a
  // password.
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
