import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  lost: {
    right: (id) => id === "lake-meadow",
    because: "The file writes it Lake-Meadow, and a join compares letter by letter.",
    hints: [
      {
        when: (id) => id === "Lake-Meadow",
        say: "So it is in the file. In the frame it has another spelling, and that is the fault.",
        example: '"Lake-Meadow"',
      },
      {
        when: (table) => table.numRows() === 8760,
        say: 'These are the rows. Take the station of the first one: .get("station").',
        example: 'hours.antijoin(places, "station")',
      },
    ],
    hint: "A year of one station is missing. Which id is in `hours` and not in `joined`?",
  },
  widest: {
    right: (id) => id === "oak-valley",
    because: "3.0 °C in February and 21.2 °C in August: 18.2 °C lie between them.",
    hints: [
      {
        when: (id) => id === "snow-pass",
        say: "It is the coldest. The question is how far its months lie apart.",
        example: '"snow-pass"',
      },
      {
        when: (span) => typeof span === "number",
        say: "That is a number; give the id of the station.",
        example: "18.2",
      },
    ],
    hint: "The warmest month less the coldest, for each station; then sort with aq.desc.",
  },
  columns: {
    right: (rows) => rows.length === 52_560 && Object.keys(rows[0]).join() === "time,windSpeedMs",
    because: "Two of seven columns were decoded.",
    hints: [
      {
        when: (rows) => rows.length === 52_560,
        say: "These are all columns. parquetReadObjects takes `columns` beside `file`.",
        example: "await parquetReadObjects({ file })",
      },
      {
        when: (table) => table.numRows() === 52_560,
        say: "That reads all of them and drops some. Let the reader leave them out.",
        example: 'again.select("time", "windSpeedMs")',
      },
    ],
    hint: "The cell above reads all columns; `columns` is a list of names.",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
