import type { ProviderParts } from "../parts.ts";
import {
  type Fields,
  notAuthorized,
  optionalText,
  requiredText,
  ServiceError,
} from "../wire_format.ts";
import type { Login } from "./login_sessions.ts";

/**
 * Handles AssociateSoftwareToken: returns the secret of a new authenticator to a login at
 * MFA_SETUP.
 *
 * @throws {ServiceError} If the request is refused.
 */
export function associateSoftwareToken(parts: ProviderParts, body: Fields): Fields {
  const { session, login } = loginInSetup(parts, body);
  parts.logins.use(session);
  const SecretCode = parts.authenticators.associate(login.account);
  return { SecretCode, Session: parts.logins.open({ ...login, failures: 0 }) };
}

/**
 * Handles VerifySoftwareToken: accepts the first code of the new authenticator.
 *
 * @throws {ServiceError} If the request is refused, or the code is wrong.
 */
export function verifySoftwareToken(parts: ProviderParts, body: Fields): Fields {
  const code = requiredText(body, "UserCode");
  optionalText(body, "FriendlyDeviceName");
  const { session, login } = loginInSetup(parts, body);
  if (parts.authenticators.check(login.account, code) !== "ok") {
    parts.logins.fail(session, login);
    throw new ServiceError(
      "EnableSoftwareTokenMFAException",
      "Code mismatch and fail enable Software Token MFA",
    );
  }
  parts.logins.use(session);
  const verified = { ...login, failures: 0, authenticatorVerified: true };
  return { Status: "SUCCESS", Session: parts.logins.open(verified) };
}

/** @throws {ServiceError} If the login is not at MFA_SETUP, or already has an authenticator. */
function loginInSetup(
  { authenticators, logins }: ProviderParts,
  body: Fields,
): { session: string; login: Login } {
  const session = requiredText(body, "Session");
  const login = logins.find(session);
  if (login.steps[0] === "MFA_SETUP" && !authenticators.has(login.account)) {
    return { session, login };
  }
  throw notAuthorized("Invalid session for the user.");
}
