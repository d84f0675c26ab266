/**
 * The benchmark itself: its arithmetic, and that every part of it runs. What it measures is in
 * docs/performance.md.
 */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { fileURLToPath } from "node:url";
import { replaceBlock } from "../../bench/document.ts";
import { interleave } from "../../bench/interleave.ts";
import type { PartResult } from "../../bench/report.ts";
import { fittedExponent, median, summarize } from "../../bench/stats.ts";

Deno.test("median() and summarize() compare the middle of samples, and samples of the same round", () => {
  assertEquals(median([9, 1, 2, 3]), 2.5);
  const { median: middle, ratio, ratioQuartiles } = summarize([2, 4, 6], [1, 2, 3]);
  assertEquals([middle, ratio, ...ratioQuartiles], [4, 2, 2, 2]);
});

Deno.test("fittedExponent() finds the power of a curve", () => {
  const sizes = [1, 10, 100, 1_000];
  assertAlmostEquals(fittedExponent(sizes, sizes.map((size) => 7 * size ** 1.5)), 1.5);
});

Deno.test("interleave() measures all subjects in every round, each first in its turn", async () => {
  const order: string[] = [];
  const subjects = ["a", "b", "c"].map((name) => ({
    name,
    measure: () => Promise.resolve(order.push(name)),
  }));
  const samples = await interleave(subjects, 3, 0);
  assertEquals(order.join(""), "abcbcacab");
  assertEquals([...samples.values()].map((each) => each.length), [3, 3, 3]);
});

Deno.test("replaceBlock() replaces what stands between its marks, and nothing else", () => {
  const text = "a\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nb\n";
  const replaced = replaceBlock(text, "x", "new");
  assertEquals(replaced, "a\n<!-- bench:x -->\n\nnew\n\n<!-- /bench:x -->\nb\n");
  assertThrows(() => replaceBlock(text, "y", "new"), Error, "y");
});

Deno.test("every part of the benchmark runs and prints JSON", async () => {
  const script = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", script, "--smoke", "--json"],
    stdin: "null",
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  assertEquals(code, 0);
  const { results }: { results: PartResult[] } = JSON.parse(new TextDecoder().decode(stdout));
  const parts = "import,cold-start,per-call,own-work,stampede,env-update,login-refresh";
  assertEquals(results.map(({ part }) => part).join(), parts);
  for (const { tables } of results) assert(tables.every(({ rows }) => rows.length > 0));
  const stampede = results.find(({ part }) => part === "stampede");
  // However many processes: one request to the provider for all calls.
  assertEquals(stampede?.tables.map(({ rows }) => rows[0]?.[1]), [1, 1]);
});
