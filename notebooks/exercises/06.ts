import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  next: {
    right: ({ NEW_PASSWORD: word }) => /[a-z]/i.test(word) && /\d/.test(word) && word.length >= 8,
    because: "In a notebook of yours, let login() ask, so that no password stands in a cell.",
    hints: [
      {
        when: (answer) => typeof answer === "string",
        say: "That is the text only. An answer says its name, too: { NAME: text }.",
        example: '"Difference-Engine-2"',
      },
      {
        when: (answer) => !("NEW_PASSWORD" in answer),
        say: "There is no such name in asks.",
        example: '{ PASSWORD: "Difference-Engine-2" }',
      },
      {
        when: ({ NEW_PASSWORD: word }) => typeof word === "string",
        say: "The provider would refuse it: eight characters, with letters and digits.",
        example: '{ NEW_PASSWORD: "bob" }',
      },
    ],
    hint: 'An object: { NAME: "text" }, with the name that asks says above.',
  },
  second: {
    right: (asked) => asked === "SOFTWARE_TOKEN_MFA",
    because: "New password and new app are asked for once, a code at each login.",
    hints: [
      {
        when: (asked) => asked === "MFA_SETUP",
        say: "That was to set up the app, and it is set up.",
        example: '"MFA_SETUP"',
      },
      {
        when: (asked) => asked === "NEW_PASSWORD_REQUIRED",
        say: "The password is his own now.",
        example: '"NEW_PASSWORD_REQUIRED"',
      },
      {
        when: (asked) => asked === "nothing",
        say: "Then the app would be of no use.",
        example: '"nothing"',
      },
    ],
    hint: "What does the app show, and for which login?",
  },
  refused: {
    right: (fault) => fault === "clock",
    because: "Her phone's time is wrong, so it shows the code of another half minute.",
    hints: [
      {
        when: (fault) => fault === "password",
        say: "It was accepted: otherwise no code would have been asked for.",
        example: '"password"',
      },
      {
        when: (fault) => fault === "secret",
        say: "A wrong app client secret fails earlier, with SECRET_HASH_REJECTED.",
        example: '"secret"',
      },
      {
        when: (fault) => fault === "network",
        say: "The provider answered. It disliked the code.",
        example: '"network"',
      },
    ],
    hint: "Of which two things does the app make a code? One is the key.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
