import type { Account } from "../accounts.ts";

/** The answer to a login that needs a further step: no AuthenticationResult, status 200. */
export function challengeAnswer(name: string, account: Account): Record<string, unknown> {
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
