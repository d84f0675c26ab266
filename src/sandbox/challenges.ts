/**
 * The challenges to which the sandbox accepts an answer. The sandbox can also send other
 * challenges.
 */
export const ANSWERED_CHALLENGES = [
  "NEW_PASSWORD_REQUIRED",
  "MFA_SETUP",
  "SMS_MFA",
  "EMAIL_OTP",
  "SMS_OTP",
  "SOFTWARE_TOKEN_MFA",
  "SELECT_MFA_TYPE",
  "CUSTOM_CHALLENGE",
] as const;

/** A challenge to which the sandbox accepts an answer. */
export type AnsweredChallenge = typeof ANSWERED_CHALLENGES[number];

/**
 * Checks the name of a challenge, or a list of the challenges that a login must pass in order.
 *
 * @param place The beginning of the message: what failed and which value is wrong.
 * @throws {TypeError} If a name is not spelled like the provider's names.
 */
export function checkChallenges(value: unknown, place: string): string[] {
  const names: unknown[] = Array.isArray(value) ? value : [value];
  const isName = (name: unknown): name is string =>
    typeof name === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(name);
  if (names.every(isName)) return [...names];
  throw new TypeError(
    `${place} must be a challenge name such as "NEW_PASSWORD_REQUIRED", or a list of them, ` +
      `got ${JSON.stringify(value)}`,
  );
}
