import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  rows: {
    right: (rows) => rows === 168,
    because: "Seven days of 24 hours; `harbor.items.length` is the same.",
    hints: [
      {
        when: (rows) => rows === 7,
        say: "These are the days. A row is an hour.",
        example: "7",
      },
      {
        when: (rows) => rows === 336,
        say: "These are the rows of both stations.",
        example: "2 * 168",
      },
      {
        when: (rows) => rows === "168",
        say: "That is a text. Leave the quotes out.",
        example: '"168"',
      },
      {
        when: Array.isArray,
        say: "These are the rows themselves. Their number is in `length`.",
        example: "harbor.items",
      },
    ],
    hint: "One row an hour, from=2025-07-07 to=2025-07-14.",
  },
  warmest: {
    right: (row) => row.time === "2025-07-11T15:00:00Z",
    because: "The row holds the hour and all that was measured in it.",
    hints: [
      {
        when: (row) => typeof row === "number",
        say: "That is how warm it was. The question is when: give the whole row.",
        example: "Math.max(...pass.items.map((row) => row.temperatureC))",
      },
      {
        when: (time) => time === "2025-07-11T15:00:00Z",
        say: "That is the hour. Give the whole row.",
        example: "pass.items.toSorted((a, b) => b.temperatureC - a.temperatureC)[0].time",
      },
      {
        when: (row) => "temperatureC" in row,
        say: "That is a row of the week, and another one is warmer at Snow Pass.",
        example: "pass.items[0]",
      },
    ],
    hint: "Sort a copy: pass.items.toSorted((a, b) => …), and take the first row.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
