import { assertEquals } from "@std/assert";
import { durationText, spanText } from "../../src/errors/amounts.ts";
import { wrapped } from "../../src/errors/lines.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

Deno.test("spanText() says a span in the unit that people would take", () => {
  for (
    const [ms, text] of [
      [0, "1 second"],
      [1_999, "1 second"],
      [2 * SECOND, "2 seconds"],
      [89 * SECOND, "89 seconds"],
      [90 * SECOND, "2 minutes"],
      [119 * MINUTE, "119 minutes"],
      [2 * HOUR, "2 hours"],
      [3 * HOUR - MINUTE, "2 hours"],
      [2 * DAY - MINUTE, "47 hours"],
      [2 * DAY, "2 days"],
      [3 * DAY, "3 days"],
      [4 * DAY - MINUTE, "3 days"],
    ] as const
  ) {
    assertEquals(spanText(ms), text, `${ms} ms`);
  }
});

Deno.test("wrapped() breaks a text at blanks, and never within the options of a call", () => {
  const lead = "word ".repeat(9);
  assertEquals(
    wrapped(`${lead}and run login({ strategy: "portal" }) again, or nothing`, "  "),
    `${lead}and run\n  login({ strategy: "portal" }) again, or nothing`,
  );
  assertEquals(wrapped(`${lead}and run {abcd efgh}`), `${lead}and run {abcd\nefgh}`);
  assertEquals(wrapped(""), "");
});

Deno.test("durationText() says a duration in its two largest units", () => {
  for (
    const [ms, text] of [
      [0, "0 s"],
      [90 * SECOND, "90 s"],
      [91 * SECOND, "2 min"],
      [119 * MINUTE, "119 min"],
      [2 * HOUR, "2 h 0 min"],
      [2 * DAY - MINUTE, "47 h 59 min"],
      [2 * DAY, "2 days"],
      [3 * DAY, "3 days"],
      [4 * DAY - MINUTE, "3 days"],
    ] as const
  ) {
    assertEquals(durationText(ms), text, `${ms} ms`);
  }
});

Deno.test("wrapped() breaks at blanks, and keeps long words and the flags of a command", () => {
  const address = `https://${"a".repeat(30)}`;
  for (
    const [text, lines] of [
      ["short", ["short"]],
      ["one two three four five", ["one two three four", "  five"]],
      ["  indented one two three", ["  indented one two", "  three"]],
      [`see ${address} for more words`, [`see ${address}`, "  for more words"]],
      ["it is run with --all --quiet", ["it is run", "  with --all --quiet"]],
      ["run: deno run --allow-read=. --allow-net x", [
        "run: deno run --allow-read=. --allow-net",
        "  x",
      ]],
    ] as const
  ) {
    assertEquals(wrapped(text, "  ", 20).split("\n"), lines);
  }
});
