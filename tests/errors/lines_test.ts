import { assertEquals } from "@std/assert";
import { durationText } from "../../src/errors/amounts.ts";
import { wrapped } from "../../src/errors/lines.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

Deno.test("durationText() uses the two largest units", () => {
  for (
    const [ms, text] of [
      [2 * SECOND - 1, "2 s"],
      [90 * SECOND, "90 s"],
      [91 * SECOND, "2 min"],
      [119 * MINUTE, "119 min"],
      [3 * HOUR - MINUTE, "2 h 59 min"],
      [2 * DAY - MINUTE, "47 h 59 min"],
      [4 * DAY - MINUTE, "3 days"],
    ] as const
  ) {
    assertEquals(durationText(ms), text, `${ms} ms`);
  }
});

Deno.test("wrapped() breaks lines at spaces, but not before a flag or inside a call", () => {
  const address = `https://${"a".repeat(30)}`;
  for (
    const [text, lines] of [
      ["", [""]],

      ["one two three four five", ["one two three four", "  five"]],
      ["  indented one two three", ["  indented one two", "  three"]],
      [`see ${address} for more words`, [`see ${address}`, "  for more words"]],
      ["it is run with --all --quiet", ["it is run", "  with --all --quiet"]],
      ['then run login({ strategy: "portal" }) again', [
        'then run login({ strategy: "portal" })',
        "  again",
      ]],
    ] as const
  ) {
    assertEquals(wrapped(text, "  ", 20).split("\n"), [...lines]);
  }
});
