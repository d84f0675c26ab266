import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  rows: {
    right: (rows) => rows === 168,
    because: "Seven days of 24 hours; `harbor.items.length` is the same.",
    hints: [
      {
        when: (rows) => rows === 7,
        say: "That is the number of days. Each row is one hour.",
        example: "7",
      },
      {
        when: (rows) => rows === 336,
        say: "That is the number of rows of both stations together.",
        example: "2 * 168",
      },
      {
        when: (rows) => rows === "168",
        say: "That is a string. Leave out the quotes.",
        example: '"168"',
      },
      {
        when: Array.isArray,
        say: "These are the rows. Their `length` is the number.",
        example: "harbor.items",
      },
    ],
    hint: "There is one row per hour, from=2025-07-07 to=2025-07-14.",
  },
  warmest: {
    right: (row) => row.time === "2025-07-11T15:00:00Z",
    because: "The row contains the hour and all its measurements.",
    hints: [
      {
        when: (row) => typeof row === "number",
        say: "That is the temperature. The question is which row has it: give the whole row.",
        example: "Math.max(...pass.items.map((row) => row.temperatureC))",
      },
      {
        when: (time) => time === "2025-07-11T15:00:00Z",
        say: "That is the hour of the row. Give the whole row.",
        example: "pass.items.toSorted((a, b) => b.temperatureC - a.temperatureC)[0].time",
      },
      {
        when: (row) => "temperatureC" in row,
        say: "That is a row of this week, but Snow Pass has a warmer one.",
        example: "pass.items[0]",
      },
    ],
    hint: "Sort a copy with pass.items.toSorted((a, b) => …), and take the first row.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
