import type { IssuedTokens, Outcome, ProviderAnswer, ProviderRequest } from "./exchange.ts";
import type { ProviderSettings } from "./provider_settings.ts";
import { quotable, Secret } from "../values/secret.ts";
import { computeSecretHash } from "./secret_hash.ts";

/** The USER_PASSWORD_AUTH request (sections 2.1 and 5.2.2). */
export async function passwordRequest(
  provider: ProviderSettings,
  username: string,
  password: Secret,
): Promise<ProviderRequest> {
  const hash = await secretHash(provider, username);
  const parameters = {
    USERNAME: username,
    PASSWORD: password.reveal(),
    ...(hash && { SECRET_HASH: hash.reveal() }),
  };
  const body = initiateAuth(provider, "USER_PASSWORD_AUTH", parameters);
  return request(provider, "login", "InitiateAuth", body, [password, hash]);
}

/**
 * The REFRESH_TOKEN_AUTH request (sections 2.1 and 5.2.3).
 *
 * @param hashFor The name to make SECRET_HASH with; `undefined`: the variant without the hash.
 */
export async function refreshRequest(
  provider: ProviderSettings,
  refreshToken: Secret,
  hashFor: string | undefined,
): Promise<ProviderRequest> {
  const hash = hashFor === undefined ? undefined : await secretHash(provider, hashFor);
  const parameters = {
    REFRESH_TOKEN: refreshToken.reveal(),
    ...(hash && { SECRET_HASH: hash.reveal() }),
  };
  const body = initiateAuth(provider, "REFRESH_TOKEN_AUTH", parameters);
  return request(provider, "refresh", "InitiateAuth", body, [refreshToken, hash]);
}

/**
 * The request that services of this kind want in place of REFRESH_TOKEN_AUTH once they hand out a new
 * refresh token with every refresh. The document does not show it.
 */
export function rotatingRefreshRequest(
  provider: ProviderSettings,
  refreshToken: Secret,
): ProviderRequest {
  const { clientId, clientSecret } = provider;
  const body = {
    RefreshToken: refreshToken.reveal(),
    ClientId: clientId,
    ...(clientSecret && { ClientSecret: clientSecret.reveal() }),
  };
  return request(provider, "refresh", "GetTokensFromRefreshToken", body, [refreshToken]);
}

function initiateAuth(
  provider: ProviderSettings,
  authFlow: string,
  parameters: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return {
    AuthFlow: authFlow,
    ClientId: provider.clientId,
    UserPoolId: provider.userPoolId,
    AuthParameters: parameters,
  };
}

async function secretHash(
  provider: ProviderSettings,
  username: string,
): Promise<Secret | undefined> {
  if (provider.clientSecret === undefined) return undefined;
  const { clientId, clientSecret } = provider;
  return new Secret(await computeSecretHash(username, clientId, clientSecret.reveal()));
}

function request(
  provider: ProviderSettings,
  flow: ProviderRequest["flow"],
  operation: string,
  body: Readonly<Record<string, unknown>>,
  secrets: readonly (Secret | undefined)[],
): ProviderRequest {
  const { targetHeader, service, contentType } = provider.words;
  return {
    flow,
    url: provider.url,
    headers: { [targetHeader]: `${service}.${operation}`, "Content-Type": contentType },
    body: new Secret(JSON.stringify(body)),
    secrets: [...secrets, provider.clientSecret].filter((secret) => secret !== undefined),
  };
}

/**
 * The tokens of an answer that holds what the document shows (section 2.2), told without the schema
 * library, which takes longer to load than the answer took; `undefined`: to be looked at in depth.
 */
function plainTokens(json: unknown): IssuedTokens | undefined {
  const result = member(json, "AuthenticationResult");
  const accessToken = member(result, "AccessToken");
  const refreshToken = member(result, "RefreshToken") ?? undefined;
  const expiresIn = member(result, "ExpiresIn");
  if (!isToken(accessToken) || !(refreshToken === undefined || isToken(refreshToken))) return;
  if (typeof expiresIn !== "number" || !(expiresIn > 0 && expiresIn <= MAX_SECONDS)) return;
  if ((member(json, "ChallengeName") ?? undefined) !== undefined) return;
  return {
    accessToken: new Secret(accessToken),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
    expiresIn,
  };
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function isToken(value: unknown): value is string {
  return typeof value === "string" && TOKEN.test(value);
}

const TOKEN = /^[\x21-\x7e]+$/;
const MAX_SECONDS = 1e9;

/**
 * Reads an answer of the token endpoint (section 2.2), leniently: what is not needed may be missing,
 * and members that are not known are passed over. What cannot be understood is a refusal that says
 * what was seen.
 */
export async function readAnswer(
  sent: Pick<ProviderRequest, "flow" | "secrets">,
  answer: ProviderAnswer,
): Promise<Outcome> {
  let json: unknown;
  try {
    json = JSON.parse(answer.text);
  } catch {
    json = undefined;
  }
  const succeeded = answer.status >= 200 && answer.status <= 299;
  const plain = succeeded ? plainTokens(json) : undefined;
  if (plain !== undefined) return { kind: "tokens", tokens: plain };
  // What only a refusal needs is no part of every login.
  const { refusalOf } = await import("./refusal.ts");
  if (!succeeded) return refusalOf(sent, answer, json);
  const { z } = await import("npm:zod@^4");
  const token = z.string().regex(TOKEN, "expected a token of visible ASCII");
  const seconds = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
    .pipe(z.number().positive().max(MAX_SECONDS));
  const shape = z.object({
    AuthenticationResult: z.object({
      AccessToken: token,
      RefreshToken: token.nullish(),
      ExpiresIn: seconds.optional().catch(undefined),
    }).nullish(),
    ChallengeName: z.string().min(1).max(200).nullish(),
    ChallengeParameters: z.record(z.string(), z.unknown()).nullish().catch(undefined),
  });
  const checked = shape.safeParse(json);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    const place = issue?.path.join(".") || "the answer";
    const odd = json === undefined ? undefined : `${place}: ${issue?.message ?? "not as expected"}`;
    return refusalOf(sent, answer, json, odd);
  }
  const { AuthenticationResult: result, ChallengeName, ChallengeParameters } = checked.data;
  if (result) {
    const tokens = {
      accessToken: new Secret(result.AccessToken),
      refreshToken: result.RefreshToken ? new Secret(result.RefreshToken) : undefined,
      expiresIn: result.ExpiresIn,
    };
    return { kind: "tokens", tokens };
  }
  if (ChallengeName) {
    const quote = (text: string) => quotable(text, sent.secrets, 1_000);
    const parameters = Object.entries(ChallengeParameters ?? {}).map(([name, value]) => [
      quote(name),
      quote(typeof value === "string" ? value : JSON.stringify(value)),
    ]);
    return {
      kind: "challenge",
      name: quote(ChallengeName),
      parameters: Object.fromEntries(parameters),
    };
  }
  return refusalOf(sent, answer, json, "neither tokens nor a challenge");
}
