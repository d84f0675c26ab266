import type { Account } from "../accounts.ts";
import { authenticationResult } from "./authentication_result.ts";
import { startLogin } from "./challenges/challenges.ts";
import { checkClient, checkClientSecret, checkSecretHash } from "./client_checks.ts";
import { CLIENT_ID, USER_POOL_ID } from "../options.ts";
import type { ProviderParts } from "./parts.ts";
import type { Grant, RefreshRefusal } from "./refresh_tokens.ts";
import {
  DIALECTS,
  type Fields,
  invalidParameter,
  notAuthorized,
  optionalText,
  requiredFields,
  requiredText,
  ServiceError,
} from "./wire_format.ts";

// Flows of the public protocol that this client is not allowed to use (section 2.1).
const OTHER_FLOWS = ["USER_SRP_AUTH", "USER_AUTH", "CUSTOM_AUTH", "ADMIN_USER_PASSWORD_AUTH"];

/**
 * Handles InitiateAuth, which logs in or refreshes (section 4.1).
 *
 * @throws {ServiceError} If the request is refused.
 */
export async function initiateAuth(parts: ProviderParts, body: Fields): Promise<Fields> {
  const { config } = parts;
  checkClient(body);
  if (DIALECTS[config.words].userPoolRequired) {
    const pool = requiredText(body, "UserPoolId");
    if (pool !== USER_POOL_ID) {
      throw new ServiceError("ResourceNotFoundException", `User pool ${pool} does not exist.`);
    }
  }
  const flow = requiredText(body, "AuthFlow");
  const onlyGetTokens = config.rotateRefreshTokens === "get-tokens" &&
    flow === "REFRESH_TOKEN_AUTH";
  if (OTHER_FLOWS.includes(flow) || onlyGetTokens) {
    throw invalidParameter(`${flow} flow not enabled for this client`);
  }
  switch (flow) {
    case "USER_PASSWORD_AUTH":
      return await passwordLogin(parts, requiredFields(body, "AuthParameters"));
    case "REFRESH_TOKEN_AUTH":
      return await refreshByAuthFlow(parts, requiredFields(body, "AuthParameters"));
    default:
      throw invalidParameter("Initiate Auth method not supported.");
  }
}

/**
 * Handles GetTokensFromRefreshToken. In the public protocol, this is the only operation that can
 * refresh if refresh tokens rotate.
 *
 * @throws {ServiceError} If the request is refused.
 */
export async function getTokensFromRefreshToken(
  parts: ProviderParts,
  body: Fields,
): Promise<Fields> {
  checkClient(body);
  const token = requiredText(body, "RefreshToken");
  checkClientSecret(parts.config, body);
  const grant = redeemable(parts, token, optionalText(body, "DeviceKey"));
  return { AuthenticationResult: await renewed(parts, token, grant) };
}

async function passwordLogin(parts: ProviderParts, parameters: Fields): Promise<Fields> {
  const { config, accounts } = parts;
  const username = requiredText(parameters, "USERNAME");
  const password = requiredText(parameters, "PASSWORD");
  checkSecretHash(config, optionalText(parameters, "SECRET_HASH"), username, {
    required: config.clientSecret !== undefined,
    mismatch: `Unable to verify secret hash for client ${CLIENT_ID}`,
  });
  const check = accounts.checkPassword(username, password);
  if (check.outcome === "locked") throw notAuthorized("Password attempts exceeded");
  if (check.outcome === "wrong") throw notAuthorized("Incorrect username or password.");
  checkStatus(check.account);
  const deviceKey = optionalText(parameters, "DEVICE_KEY");
  return await startLogin(parts, check.account, deviceKey);
}

async function refreshByAuthFlow(parts: ProviderParts, parameters: Fields): Promise<Fields> {
  const { config } = parts;
  const token = requiredText(parameters, "REFRESH_TOKEN");
  const sent = optionalText(parameters, "SECRET_HASH");
  const grant = redeemable(parts, token, optionalText(parameters, "DEVICE_KEY"));
  // Section 2.1 shows the refresh both with and without SECRET_HASH, so an option decides.
  const mismatch = `SecretHash does not match for the client: ${CLIENT_ID}`;
  if (config.refreshSecretHash === "forbidden" && sent !== undefined) throw notAuthorized(mismatch);
  checkSecretHash(config, sent, grant.account.username, {
    required: config.clientSecret !== undefined && config.refreshSecretHash === "required",
    mismatch,
  });
  return {
    AuthenticationResult: await renewed(parts, token, grant),
    ChallengeParameters: {},
  };
}

async function renewed(parts: ProviderParts, token: string, grant: Grant): Promise<Fields> {
  const { config, refreshTokens } = parts;
  // The token is replaced before the first await, so that only one of two simultaneous requests
  // succeeds.
  const next = config.rotateRefreshTokens ? refreshTokens.rotate(token, grant) : undefined;
  return await authenticationResult(parts, grant, next);
}

function redeemable(parts: ProviderParts, token: string, deviceKey: string | undefined): Grant {
  const check = parts.refreshTokens.check(token);
  if (!check.ok) throw refreshRefused(check.reason, parts);
  if (parts.devices.allows(check.grant, deviceKey)) return check.grant;
  // This is the provider's own message. It is misleading: the token is valid, but the device is
  // not.
  throw notAuthorized("Invalid Refresh Token");
}

function refreshRefused(reason: RefreshRefusal, { config }: ProviderParts): ServiceError {
  if (reason === "replaced" && config.rotateRefreshTokens === "get-tokens") {
    const message = "Refresh Token has been invalidated by rotation";
    return new ServiceError("RefreshTokenReuseException", message);
  }
  return notAuthorized(
    {
      expired: "Refresh Token has expired",
      revoked: "Refresh Token has been revoked",
      replaced: "Refresh Token has been revoked",
      unknown: "Invalid Refresh Token",
    }[reason],
  );
}

function checkStatus(account: Account): void {
  if (account.status === "unconfirmed") {
    throw new ServiceError("UserNotConfirmedException", "User is not confirmed.");
  }
  if (account.status === "reset-required") {
    throw new ServiceError(
      "PasswordResetRequiredException",
      "Password reset required for the user",
    );
  }
}
