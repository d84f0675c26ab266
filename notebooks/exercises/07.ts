import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  third: {
    right: (requests) => requests === 1,
    because: "199 files are kept without a request, and the one that failed is requested again.",
    hints: [
      {
        when: (requests) => requests === 200,
        say: "Existing files are kept, and nothing is sent for them.",
        example: "200",
      },
      {
        when: (requests) => requests === 0,
        say: "Do all 200 files exist? Look at the card.",
        example: "0",
      },
    ],
    hint: "Nothing is sent for a file that exists. How many files are missing?",
  },
  missing: {
    right: (id) => id === "gull-harbor",
    because: "The list says gull-habour, and the API's message lists the stations that it knows.",
    hints: [
      {
        when: (id) => id === "gull-habour",
        say: "That is what the list says. Compare it with the stations that the API knows.",
        example: '"gull-habour"',
      },
    ],
    hint: "The message above contains the API's response. Read it to the end.",
  },
  anew: {
    right: ({ ifExists, ...others }) => ifExists === "replace" && Object.keys(others).length === 0,
    because: "The file is downloaded, and replaces the old one once it is complete.",
    hints: [
      {
        when: (options) => options === "replace",
        say: "The options are an object: { ifExists: … }.",
        example: '"replace"',
      },
      {
        when: ({ ifExists }) => ifExists === "keep",
        say: "That is what happened above. The old file was kept.",
        example: '{ ifExists: "keep" }',
      },
      {
        when: ({ ifExists }) => ifExists === "error",
        say: "Then the file is listed in `failed`, and the old one is kept.",
        example: '{ ifExists: "error" }',
      },
    ],
    hint: "Give an object with one of the three values of ifExists.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
