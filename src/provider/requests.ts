import type { ProviderRequest } from "./protocol.ts";
import type { Provider } from "./provider.ts";
import { Secret } from "../platform/secret.ts";
import type { RenewableTokens } from "./tokens.ts";
import { computeSecretHash } from "./secret_hash.ts";

/** Makes the USER_PASSWORD_AUTH request (section 2.1). */
export async function passwordRequest(
  provider: Provider,
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
 * Makes the REFRESH_TOKEN_AUTH request (section 2.1).
 *
 * @param hashFor The name for SECRET_HASH; `undefined` for the variant without the hash.
 */
export async function refreshRequest(
  provider: Provider,
  { refreshToken, learned: { deviceKey } }: RenewableTokens,
  hashFor: string | undefined,
): Promise<ProviderRequest> {
  const hash = hashFor === undefined ? undefined : await secretHash(provider, hashFor);
  const parameters = {
    REFRESH_TOKEN: refreshToken.reveal(),
    ...(hash && { SECRET_HASH: hash.reveal() }),
    ...(deviceKey && { DEVICE_KEY: deviceKey.reveal() }),
  };
  const body = initiateAuth(provider, "REFRESH_TOKEN_AUTH", parameters);
  return request(provider, "refresh", "InitiateAuth", body, [
    refreshToken,
    hash,
    deviceKey,
  ]);
}

/**
 * Makes the refresh request of services that issue a new refresh token with every refresh. It
 * contains the client secret itself.
 */
export function rotatingRefreshRequest(
  provider: Provider,
  { refreshToken, learned: { deviceKey } }: RenewableTokens,
): ProviderRequest {
  const body = {
    RefreshToken: refreshToken.reveal(),
    ...clientFields(provider),
    ...(deviceKey && { DeviceKey: deviceKey.reveal() }),
  };
  const secrets = [refreshToken, deviceKey];
  return request(provider, "refresh", "GetTokensFromRefreshToken", body, secrets);
}

/**
 * Makes the request that confirms the device of a login.
 *
 * @param verifier The values that the provider stores instead of the device's password.
 */
export function confirmDeviceRequest(
  provider: Provider,
  accessToken: Secret,
  deviceKey: Secret,
  { verifier, salt }: { readonly verifier: string; readonly salt: string },
): ProviderRequest {
  const body = {
    AccessToken: accessToken.reveal(),
    DeviceKey: deviceKey.reveal(),
    // The name of this computer is private, so all devices have the same name.
    DeviceName: "platform-auth",
    DeviceSecretVerifierConfig: { PasswordVerifier: verifier, Salt: salt },
  };
  return request(provider, "device", "ConfirmDevice", body, [accessToken, deviceKey]);
}

/** Makes the request that revokes a refresh token. It contains the client secret itself. */
export function revokeRequest(provider: Provider, refreshToken: Secret): ProviderRequest {
  const body = { Token: refreshToken.reveal(), ...clientFields(provider) };
  return request(provider, "sign-out", "RevokeToken", body, [refreshToken]);
}

/** Makes the request that ends all sessions of the account, on all devices. */
export function globalSignOutRequest(
  provider: Provider,
  accessToken: Secret,
): ProviderRequest {
  const body = { AccessToken: accessToken.reveal() };
  return request(provider, "sign-out", "GlobalSignOut", body, [accessToken]);
}

/**
 * Returns the fields that identify the client in operations without AuthParameters. These
 * operations take the secret itself instead of a hash.
 */
function clientFields({ clientId, clientSecret }: Provider): Record<string, string> {
  return { ClientId: clientId, ...(clientSecret && { ClientSecret: clientSecret.reveal() }) };
}

function initiateAuth(
  provider: Provider,
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

/** Computes SECRET_HASH for a name; returns `undefined` for a public client. */
export async function secretHash(
  provider: Provider,
  username: string,
): Promise<Secret | undefined> {
  const { clientId, clientSecret } = provider;
  if (clientSecret === undefined) return undefined;
  return new Secret(await computeSecretHash(username, clientId, clientSecret.reveal()));
}

/**
 * Makes the request for an operation. `secrets` lists the values that must not appear in messages
 * about the request.
 */
export function request(
  provider: Provider,
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
    secrets: [...secrets, provider.clientSecret].filter((secret) => secret !== undefined),
  };
}
