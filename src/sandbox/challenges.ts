/** The steps whose answer the sandbox judges. It reports the others and takes no answer to them. */
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

/** A step that the sandbox can be answered. */
export type AnsweredChallenge = typeof ANSWERED_CHALLENGES[number];

/**
 * Checks the names of challenges: one, or a list of those that a login passes one after the other.
 *
 * @param place What was tried and where the names stand, for the message.
 * @throws {TypeError} A name is not written as the provider writes them.
 */
export function checkChallenges(value: string | readonly string[], place: string): string[] {
  const names = Array.isArray(value) ? value : [value];
  for (const name of names) {
    if (typeof name !== "string" || !/^[A-Z][A-Z0-9_]{2,40}$/.test(name)) {
      throw new TypeError(
        `${place} must be a challenge name such as "NEW_PASSWORD_REQUIRED", or a list of them, ` +
          `got ${JSON.stringify(value)}`,
      );
    }
  }
  return [...names];
}
