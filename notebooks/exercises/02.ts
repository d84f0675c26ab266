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
  requests: {
    right: (count) => count === 2,
    because: "One was sent by hand and one by the first login(). The second login() found a valid session.",
    hints: [
      {
        when: (count) => count === 3,
        say: "login() sends a request only if there is no valid session.",
        example: "3",
      },
      {
        when: (count) => count === 1,
        say: "The request that you sent by hand counts, too.",
        example: "1",
      },
    ],
    hint: "Count the request by hand, the first login() and the second one.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
