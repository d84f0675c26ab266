import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  next: {
    right: ({ NEW_PASSWORD: word }) => /[a-z]/i.test(word) && /\d/.test(word) && word.length >= 8,
    because: "In your own notebook, let login() prompt, so that no cell contains a password.",
    hints: [
      {
        when: (answer) => typeof answer === "string",
        say: "That is only the text. An answer also contains its name: { NAME: text }.",
        example: '"Difference-Engine-2"',
      },
      {
        when: (answer) => !("NEW_PASSWORD" in answer),
        say: "asks does not contain that name.",
        example: '{ PASSWORD: "Difference-Engine-2" }',
      },
      {
        when: ({ NEW_PASSWORD: word }) => typeof word === "string",
        say: "The provider would refuse that password. It needs eight characters, with letters and digits.",
        example: '{ NEW_PASSWORD: "bob" }',
      },
    ],
    hint: 'Give an object { NAME: "text" }, with the name from asks above.',
  },
  second: {
    right: (asked) => asked === "SOFTWARE_TOKEN_MFA",
    because: "The new password and the new app are required once, a code at each login.",
    hints: [
      {
        when: (asked) => asked === "MFA_SETUP",
        say: "That step sets up the app, which is already set up.",
        example: '"MFA_SETUP"',
      },
      {
        when: (asked) => asked === "NEW_PASSWORD_REQUIRED",
        say: "He has already chosen his own password.",
        example: '"NEW_PASSWORD_REQUIRED"',
      },
      {
        when: (asked) => asked === "nothing",
        say: "Then the app would be useless.",
        example: '"nothing"',
      },
    ],
    hint: "What does the app show, and what is it for?",
  },
  refused: {
    right: (fault) => fault === "clock",
    because: "Her phone's clock is wrong, so it shows the code of another half minute.",
    hints: [
      {
        when: (fault) => fault === "password",
        say: "Her password was accepted, otherwise the provider would not ask for a code.",
        example: '"password"',
      },
      {
        when: (fault) => fault === "secret",
        say: "A wrong app client secret fails earlier, with SECRET_HASH_REJECTED.",
        example: '"secret"',
      },
      {
        when: (fault) => fault === "network",
        say: "The provider responded. It rejected the code.",
        example: '"network"',
      },
    ],
    hint: "From which two things does the app compute a code? One is the key.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
