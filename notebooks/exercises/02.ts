import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  secret: {
    right: (names) => [...names].sort().join() === "clientSecret,password",
    because: "The other three are names: without a secret they open nothing.",
    hints: [
      {
        when: (names) => names.includes("clientId") || names.includes("userPoolId"),
        say: "Client id and pool id stand in each request for all to see; they are names.",
        example: '["clientId", "clientSecret", "password"]',
      },
      {
        when: (names) => names.length === 1,
        say: "That is one of two.",
        example: '["password"]',
      },
    ],
    hint: 'A list of names, such as ["username", …]: which must never be shown?',
  },
  requests: {
    right: (count) => count === 2,
    because: "One by hand and one by the first login(); the second found a session that is good.",
    hints: [
      {
        when: (count) => count === 3,
        say: "login() asks the provider only where no good session is there.",
        example: "3",
      },
      {
        when: (count) => count === 1,
        say: "The request by hand counts, too.",
        example: "1",
      },
    ],
    hint: "Count the request by hand, the first login() and the second one.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
