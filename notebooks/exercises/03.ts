import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  refreshes: {
    right: (count) => count === 1,
    because: "All calls of the process wait for the same refresh and use its token.",
    hints: [
      {
        when: (count) => count === 50,
        say: "If refresh tokens rotate, each refresh would then end the session of the others.",
        example: "50",
      },
      {
        when: (count) => count === 0,
        say: "The token has expired. Without a new one, the API responds with 401.",
        example: "0",
      },
    ],
    hint: "Give a number. The token has expired, and fifty calls notice that at the same moment.",
  },
  kept: {
    right: (token) => /^[\w.-]{200,}$/.test(token) && token.split(".").length !== 3,
    because: "A response without a refresh token means that the old one stays valid.",
    hints: [
      {
        when: (token) => token.split(".").length === 3,
        say: "That is the new access token. Which token do you need to get the next one?",
        example: "bare.AuthenticationResult.AccessToken",
      },
      {
        when: (token) => token === null,
        say: "The response contains none, as shown above. Which token did you send?",
        example: "bare.AuthenticationResult.RefreshToken ?? null",
      },
    ],
    hint: "Which variable above contains a token that is valid for about 30 days?",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
