import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  lifetime: {
    right: (minutes) => minutes === 30,
    because: "exp - iat is 1800 seconds.",
    hints: [
      {
        when: (minutes) => minutes === 1800,
        say: "These are seconds; the question is about minutes.",
        example: "claims.exp - claims.iat",
      },
      {
        when: (minutes) => minutes > 1e6,
        say: "That is a point in time, in seconds since 1970. Subtract the other one from it.",
        example: "claims.exp",
      },
    ],
    hint: "claims.exp says when the token expires, claims.iat when it was issued.",
  },
  forged: {
    right: (status) => status === 401,
    because: "The signature covers the original claims, and only the provider can make a new one.",
    hints: [
      {
        when: (status) => status === 200,
        say: "Then everyone could act as anyone else. What is the third part of a token for?",
        example: "200",
      },
      {
        when: (status) => status === 403,
        say: "403 means that the API knows the user, who lacks a permission. Here the API cannot know who the user is.",
        example: "403",
      },
    ],
    hint: "An HTTP status: 200 means success, 401 that the token is not accepted, 403 that a permission is missing.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
