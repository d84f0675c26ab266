import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  lifetime: {
    right: (minutes) => minutes === 30,
    because: "exp - iat are 1800 seconds.",
    hints: [
      {
        when: (minutes) => minutes === 1800,
        say: "These are seconds; the question is about minutes.",
        example: "claims.exp - claims.iat",
      },
      {
        when: (minutes) => minutes > 1e6,
        say: "That is a point in time: seconds since 1970. Take the other one from it.",
        example: "claims.exp",
      },
    ],
    hint: "claims.exp says when the token ends, claims.iat when it was made.",
  },
  forged: {
    right: (status) => status === 401,
    because: "The signature was made over the old claims, and only the provider can make another.",
    hints: [
      {
        when: (status) => status === 200,
        say: "Then anybody could become anybody. What is the third piece of a token for?",
        example: "200",
      },
      {
        when: (status) => status === 403,
        say: "403 is for somebody whom the API knows and who may not. Here it cannot know who asks.",
        example: "403",
      },
    ],
    hint: "A status of HTTP: 200 is well, 401 is a token that is not accepted, 403 is no permission.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
