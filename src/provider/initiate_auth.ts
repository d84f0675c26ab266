import type { ProviderRequest, ProviderSettings } from "./exchange.ts";
import { Secret } from "../values/secret.ts";
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
 * The refresh request of services that issue a new refresh token with every refresh. The document
 * does not show it. It carries the client secret itself.
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
  const { targetHeader, service, contentType } = provider.dialect;
  return {
    flow,
    url: provider.url,
    headers: { [targetHeader]: `${service}.${operation}`, "Content-Type": contentType },
    body: new Secret(JSON.stringify(body)),
    command: provider.command,
    secrets: [...secrets, provider.clientSecret].filter((secret) => secret !== undefined),
  };
}
