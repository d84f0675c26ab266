import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  secret: {
    right: (names) => [...names].sort().join() === "clientSecret,password",
    because: "The other three are names, which are useless without a secret.",
    hints: [
      {
        when: (names) => names.includes("clientId") || names.includes("userPoolId"),
        say: "Client id and pool id are names that every request contains.",
        example: '["clientId", "clientSecret", "password"]',
      },
      {
        when: (names) => names.length === 1,
        say: "That is one of the two.",
        example: '["password"]',
      },
    ],
    hint: 'Which of them must never be shown? Give a list of names, such as ["username", …].',
  },
  identity: {
    right: (status) => status === 401,
    because: "The identity token is for the application. The API accepts only access tokens.",
    hints: [
      {
        when: (status) => status === 200,
        say: "Both tokens are signed by the same provider, but the API reads the claim token_use.",
        example: "200",
      },
      {
        when: (status) => status === 403,
        say: "403 means that the API knows the user, who lacks a permission. Here it does not accept the token.",
        example: "403",
      },
    ],
    hint:
      "An HTTP status: 200 means success, 401 that the token is not accepted, 403 that a permission is missing.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
