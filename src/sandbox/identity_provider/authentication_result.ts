import type { Account } from "../accounts.ts";
import type { ProviderParts } from "./parts.ts";
import type { Grant } from "./refresh_tokens.ts";
import { ACCOUNT_SCOPE } from "./tokens.ts";
import type { Fields } from "./wire_format.ts";

/** The tokens of a login or refresh (section 2.2). */
export async function authenticationResult(
  { config, tokens }: ProviderParts,
  { account, authenticatedAt, originJti }: Grant,
  refreshToken: string | undefined,
): Promise<Fields> {
  const origin = config.revocation ? originJti : undefined;
  const issued = await tokens.issue(account, authenticatedAt, origin, ACCOUNT_SCOPE);
  return {
    AccessToken: issued.accessToken,
    ExpiresIn: config.accessTokenSeconds,
    IdToken: issued.idToken,
    ...(refreshToken && { RefreshToken: refreshToken }),
    TokenType: "Bearer",
  };
}

/**
 * The response to a login that has passed all its challenges.
 *
 * @throws {ServiceError} If the request names a device that does not belong to the user.
 */
export async function loginResult(
  parts: ProviderParts,
  account: Account,
  knownDevice: string | undefined,
): Promise<Fields> {
  const { config, devices, refreshTokens } = parts;
  const device = devices.atLogin(account, knownDevice);
  const grant: Grant = {
    account,
    authenticatedAt: config.now(),
    originJti: crypto.randomUUID(),
    deviceKey: device?.deviceKey,
  };
  const result = await authenticationResult(parts, grant, refreshTokens.issue(grant));
  return {
    AuthenticationResult: {
      ...result,
      ...(device?.metadata && { NewDeviceMetadata: device.metadata }),
    },
    ChallengeParameters: {},
  };
}
