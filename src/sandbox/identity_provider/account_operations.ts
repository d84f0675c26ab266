import type { Account } from "../accounts.ts";
import { checkClient, checkClientSecret } from "./client_checks.ts";
import type { ProviderParts } from "./parts.ts";
import { type AccessClaims, ACCOUNT_SCOPE, TokenRefused } from "./tokens.ts";
import { type Fields, notAuthorized, requiredText, ServiceError } from "./wire_format.ts";

/**
 * Handles ConfirmDevice: confirms a device, so that refreshes from this device are accepted.
 *
 * @throws {ServiceError} If the request is refused.
 */
export async function confirmDevice(parts: ProviderParts, body: Fields): Promise<Fields> {
  return parts.devices.confirm(await accountOf(parts, body), body);
}

/**
 * Handles GlobalSignOut: ends all logins of a user. The API checks only signatures, so it accepts
 * access tokens of these logins until they expire.
 *
 * @throws {ServiceError} If the request is refused.
 */
export async function globalSignOut(parts: ProviderParts, body: Fields): Promise<Fields> {
  parts.refreshTokens.revoke(await accountOf(parts, body));
  return {};
}

/**
 * Handles RevokeToken: ends the login to which a refresh token belongs. If the token is unknown or
 * already revoked, the response is still a success.
 *
 * @throws {ServiceError} If the request is refused.
 */
export function revokeToken({ config, refreshTokens }: ProviderParts, body: Fields): Fields {
  checkClient(body);
  const token = requiredText(body, "Token");
  try {
    checkClientSecret(config, body);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError("UnauthorizedException", error.message);
  }
  if (!config.revocation) {
    throw new ServiceError(
      "UnsupportedOperationException",
      "Token revocation is not enabled for this client.",
    );
  }
  // Access and identity tokens are JWTs: three parts separated by dots.
  if (token.split(".").length === 3) {
    throw new ServiceError("UnsupportedTokenTypeException", "Unsupported token type");
  }
  refreshTokens.revokeToken(token);
  return {};
}

/** The user of an access token, if the token permits operations on the user's own account. */
async function accountOf(parts: ProviderParts, body: Fields): Promise<Account> {
  let claims: AccessClaims;
  try {
    claims = await parts.tokens.verify(requiredText(body, "AccessToken"));
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    throw notAuthorized(error.isExpired ? "Access Token has expired" : "Invalid Access Token");
  }
  if (parts.refreshTokens.isRevoked(claims.origin_jti)) {
    throw notAuthorized("Access Token has been revoked");
  }
  if (!String(claims.scope).split(" ").includes(ACCOUNT_SCOPE)) {
    throw notAuthorized("Access Token does not have required scopes");
  }
  return parts.accounts.find(claims.username);
}
