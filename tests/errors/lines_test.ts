import { assertEquals } from "@std/assert";
import { durationText } from "../../src/errors/amounts.ts";
import { shortened, wrapped } from "../../src/errors/lines.ts";

Deno.test("durationText() uses the two largest units", () => {
  const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
  const texts: [ms: number, text: string][] = [
    [90 * SECOND, "90 s"],
    [91 * SECOND, "2 min"],
    [3 * HOUR - MINUTE, "2 h 59 min"],
    [2 * DAY - MINUTE, "47 h 59 min"],
    [4 * DAY - MINUTE, "3 days"],
  ];
  for (const [ms, text] of texts) assertEquals(durationText(ms), text);
});

Deno.test("shortened() leaves a text of the maximum length as it is", () => {
  assertEquals([shortened("abc", 3), shortened("abcd", 3)], ["abc", "abc…"]);
});

Deno.test("wrapped() breaks lines at spaces, but not before a flag or inside a call", () => {
  const address = `https://${"a".repeat(30)}`;
  const texts: [text: string, lines: string[]][] = [
    ["one two three four five", ["one two three four", "  five"]],
    [`see ${address} for more words`, [`see ${address}`, "  for more words"]],
    ["it is run with --all --quiet", ["it is run", "  with --all --quiet"]],
    ["go and run login({ a: 1 })", ["go and run", "  login({ a: 1 })"]],
  ];
  for (const [text, lines] of texts) assertEquals(wrapped(text, "  ", 20).split("\n"), lines);
});
