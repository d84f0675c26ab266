import type { Account, Accounts } from "../accounts.ts";
import { checkClient, checkSecretHash, sameText } from "./client_checks.ts";
import { CLIENT_ID, type SandboxConfig, USER_POOL_ID } from "../options.ts";
import type { Grant, RefreshCheck, RefreshTokens } from "./refresh_tokens.ts";
import {
  DIALECTS,
  type Fields,
  isRecord,
  notAuthorized,
  optionalText,
  requiredText,
  ServiceError,
} from "./wire_format.ts";
import type { TokenIssuer } from "./tokens.ts";

/** What the flows need. */
export interface AuthFlowParts {
  readonly config: SandboxConfig;
  readonly accounts: Accounts;
  readonly tokens: TokenIssuer;
  readonly refreshTokens: RefreshTokens;
}

// Flows of the public protocol that are not enabled for this client (section 2.1).
const OTHER_FLOWS = ["USER_SRP_AUTH", "USER_AUTH", "CUSTOM_AUTH", "ADMIN_USER_PASSWORD_AUTH"];

/**
 * InitiateAuth: login or refresh (section 4.1).
 *
 * @throws {ServiceError} The request is refused.
 */
export async function initiateAuth(parts: AuthFlowParts, body: Fields): Promise<Fields> {
  const { config } = parts;
  checkClient(body);
  if (DIALECTS[config.words].userPoolRequired) {
    const pool = requiredText(body, "UserPoolId");
    if (pool !== USER_POOL_ID) {
      throw new ServiceError("ResourceNotFoundException", `User pool ${pool} does not exist.`);
    }
  }
  const flow = requiredText(body, "AuthFlow");
  const parameters = body.AuthParameters;
  if (flow === "USER_PASSWORD_AUTH" || flow === "REFRESH_TOKEN_AUTH") {
    if (flow === "REFRESH_TOKEN_AUTH" && config.rotation === "get-tokens") throw flowDisabled(flow);
    if (!isRecord(parameters)) {
      throw new ServiceError(
        "InvalidParameterException",
        "Missing required parameter AuthParameters",
      );
    }
    return flow === "USER_PASSWORD_AUTH"
      ? await passwordLogin(parts, parameters)
      : await refreshByAuthFlow(parts, parameters);
  }
  if (OTHER_FLOWS.includes(flow)) throw flowDisabled(flow);
  throw new ServiceError("InvalidParameterException", "Initiate Auth method not supported.");
}

/**
 * GetTokensFromRefreshToken: the only refresh of the public protocol if it rotates refresh tokens.
 *
 * @throws {ServiceError} The request is refused.
 */
export async function getTokensFromRefreshToken(
  parts: AuthFlowParts,
  body: Fields,
): Promise<Fields> {
  const { clientSecret } = parts.config;
  checkClient(body);
  const token = requiredText(body, "RefreshToken");
  const sent = optionalText(body, "ClientSecret");
  if (clientSecret !== undefined && sent === undefined) {
    throw notAuthorized(
      `Client ${CLIENT_ID} is configured with secret but ClientSecret was not received`,
    );
  }
  if (sent !== undefined && (clientSecret === undefined || !sameText(sent, clientSecret))) {
    throw notAuthorized(`Unable to verify secret for client ${CLIENT_ID}`);
  }
  const grant = redeemable(parts, token);
  return { AuthenticationResult: await renewed(parts, token, grant) };
}

async function passwordLogin(parts: AuthFlowParts, parameters: Fields): Promise<Fields> {
  const { config, accounts, tokens, refreshTokens } = parts;
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
  if (config.challenge !== undefined) return challengeAnswer(config.challenge, check.account);

  const grant: Grant = {
    account: check.account,
    authenticatedAt: config.now(),
    originJti: crypto.randomUUID(),
  };
  const refreshToken = refreshTokens.issue(grant);
  const issued = await tokens.issue(grant.account, grant.authenticatedAt, grant.originJti);
  return {
    AuthenticationResult: {
      AccessToken: issued.accessToken,
      ExpiresIn: config.accessTokenSeconds,
      IdToken: issued.idToken,
      RefreshToken: refreshToken,
      TokenType: "Bearer",
    },
    ChallengeParameters: {},
  };
}

async function refreshByAuthFlow(parts: AuthFlowParts, parameters: Fields): Promise<Fields> {
  const { config } = parts;
  const token = requiredText(parameters, "REFRESH_TOKEN");
  const sent = optionalText(parameters, "SECRET_HASH");
  const grant = redeemable(parts, token);
  // Section 2.1 shows both: the refresh with SECRET_HASH and without it.
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

async function renewed(parts: AuthFlowParts, token: string, grant: Grant): Promise<Fields> {
  const { config, tokens, refreshTokens } = parts;
  // Before the first await, so that only one of two simultaneous requests succeeds.
  const next = config.rotation === "off" ? undefined : refreshTokens.rotate(token, grant);
  const issued = await tokens.issue(grant.account, grant.authenticatedAt, grant.originJti);
  return {
    AccessToken: issued.accessToken,
    ExpiresIn: config.accessTokenSeconds,
    IdToken: issued.idToken,
    ...(next === undefined ? {} : { RefreshToken: next }),
    TokenType: "Bearer",
  };
}

function redeemable(parts: AuthFlowParts, token: string): Grant {
  const check = parts.refreshTokens.check(token);
  if (check.ok) return check.grant;
  throw refreshRefused(check, parts.config.rotation);
}

function refreshRefused(
  check: Extract<RefreshCheck, { ok: false }>,
  rotation: SandboxConfig["rotation"],
): ServiceError {
  switch (check.reason) {
    case "expired":
      return notAuthorized("Refresh Token has expired");
    case "revoked":
      return notAuthorized("Refresh Token has been revoked");
    case "replaced":
      return rotation === "get-tokens"
        ? new ServiceError(
          "RefreshTokenReuseException",
          "Refresh Token has been invalidated by rotation",
        )
        : notAuthorized("Refresh Token has been revoked");
    case "unknown":
      return notAuthorized("Invalid Refresh Token");
  }
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

function flowDisabled(flow: string): ServiceError {
  return new ServiceError(
    "InvalidParameterException",
    `${flow} flow not enabled for this client`,
  );
}

/** The answer to a login that needs a further step: no AuthenticationResult, status 200. */
function challengeAnswer(name: string, account: Account): Fields {
  return {
    ChallengeName: name,
    ChallengeParameters: challengeParameters(name, account),
    Session: crypto.getRandomValues(new Uint8Array(96)).toBase64({ alphabet: "base64url" }),
  };
}

function challengeParameters(name: string, account: Account): Record<string, string> {
  const user = { USER_ID_FOR_SRP: account.username };
  switch (name) {
    case "NEW_PASSWORD_REQUIRED":
      return {
        ...user,
        requiredAttributes: "[]",
        userAttributes: JSON.stringify(account.email === undefined ? {} : { email: account.email }),
      };
    case "SMS_MFA":
      return {
        ...user,
        CODE_DELIVERY_DELIVERY_MEDIUM: "SMS",
        CODE_DELIVERY_DESTINATION: "+*******0000",
      };
    case "SOFTWARE_TOKEN_MFA":
      return { ...user, FRIENDLY_DEVICE_NAME: "Authenticator" };
    default:
      return user;
  }
}
