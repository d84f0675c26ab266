import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  refreshes: {
    right: (count) => count === 1,
    because: "All calls of the process wait for the same refresh, and take its token.",
    hints: [
      {
        when: (count) => count === 50,
        say: "Each would then end the session of the others where refresh tokens rotate.",
        example: "50",
      },
      {
        when: (count) => count === 0,
        say: "The token has ended: without a new one the API answers 401.",
        example: "0",
      },
    ],
    hint: "A number: the token has ended, and fifty calls notice it at the same moment.",
  },
  kept: {
    right: (token) => /^[\w.-]{200,}$/.test(token) && token.split(".").length !== 3,
    because: "An answer without a refresh token means that the old one stays good.",
    hints: [
      {
        when: (token) => token.split(".").length === 3,
        say: "That is the new access token. Which token gets the next one?",
        example: "bare.AuthenticationResult.AccessToken",
      },
      {
        when: (token) => token === null,
        say: "The answer has none, as shown above. What did you send to get it?",
        example: "bare.AuthenticationResult.RefreshToken ?? null",
      },
    ],
    hint: "Which variable above holds a token that is good for about 30 days?",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
