import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  third: {
    right: (requests) => requests === 1,
    because: "199 files are kept without a question, and the one that failed is asked for again.",
    hints: [
      {
        when: (requests) => requests === 200,
        say: "What is there is kept, and nothing is sent for it.",
        example: "200",
      },
      {
        when: (requests) => requests === 0,
        say: "Are all 200 there? Look at the card.",
        example: "0",
      },
    ],
    hint: "Nothing is sent for a file that is there. How many are not?",
  },
  missing: {
    right: (id) => id === "gull-harbor",
    because: "The list asked gull-habour, and the API told which stations it knows.",
    hints: [
      {
        when: (id) => id === "gull-habour",
        say: "That is what the list asks. Compare it with what the API says it knows.",
        example: '"gull-habour"',
      },
    ],
    hint: "The message above says what the API answered; read it to its end.",
  },
  anew: {
    right: ({ ifExists, ...others }) => ifExists === "replace" && Object.keys(others).length === 0,
    because: "The file is fetched, and takes the place of the old one when it is whole.",
    hints: [
      {
        when: (options) => options === "replace",
        say: "The options are an object: { ifExists: … }.",
        example: '"replace"',
      },
      {
        when: ({ ifExists }) => ifExists === "keep",
        say: "That is what happened above: the old file was kept.",
        example: '{ ifExists: "keep" }',
      },
      {
        when: ({ ifExists }) => ifExists === "error",
        say: "Then the file is in the list of failures, and the old one stays.",
        example: '{ ifExists: "error" }',
      },
    ],
    hint: "An object with one of the three values of ifExists.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
