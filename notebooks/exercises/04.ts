import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  lost: {
    right: (id) => id === "lake-meadow",
    because: "The file spells it Lake-Meadow, and a join compares letter by letter.",
    hints: [
      {
        when: (id) => id === "Lake-Meadow",
        say: "That is the spelling in the file. The data frame spells it differently, which is the mistake.",
        example: '"Lake-Meadow"',
      },
      {
        when: (table) => table.numRows() === 8760,
        say: 'These are the rows. Get the station of the first row with .get("station").',
        example: 'hours.antijoin(places, "station")',
      },
    ],
    hint: "One station is missing for the whole year. Which id is in `hours` but not in `joined`?",
  },
  widest: {
    right: (id) => id === "oak-valley",
    because: "The means are 3.0 °C in February and 21.2 °C in August, a difference of 18.2 °C.",
    hints: [
      {
        when: (id) => id === "snow-pass",
        say: "Snow Pass is the coldest station. The question is how much its months differ.",
        example: '"snow-pass"',
      },
      {
        when: (span) => typeof span === "number",
        say: "That is a number; give the id of the station.",
        example: "18.2",
      },
    ],
    hint: "Subtract the coldest month from the warmest for each station, then sort with aq.desc.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
