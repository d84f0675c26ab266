/**
 * The benchmark itself: its arithmetic, and that every part of it runs. What it measures is in
 * bench/README.md.
 */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { fileURLToPath } from "node:url";
import { replaceBlock } from "../../bench/document.ts";
import { interleave } from "../../bench/interleave.ts";
import { type PartResult, type Target, verdictOf } from "../../bench/report.ts";
import { fittedExponent, median, medianInterval, summarize } from "../../bench/stats.ts";
import { NO_REDIS } from "../support/redis_server.ts";

Deno.test("summarize() compares samples of the same round", () => {
  assertEquals(median([9, 1, 2, 3]), 2.5);
  // Samples of one round are alike, those of different rounds are not.
  const rounds = [1, 2, 3, 40, 5, 600, 7, 8];
  const { median: middle, ratio, interval } = summarize(rounds.map((it) => it * 2), rounds);
  assertEquals([middle, ratio, ...interval], [12, 2, 2, 2]);
});

Deno.test("medianInterval() is the same each time, and narrower the more values there are", () => {
  const values = (count: number) =>
    Array.from({ length: count }, (_, at) => 1 + Math.sin(at * at) / 10);
  const [low, high] = medianInterval(values(100));
  assertEquals(medianInterval(values(100)), [low, high]);
  assert(low < median(values(100)) && median(values(100)) < high);
  const [lower, higher] = medianInterval(values(2_500));
  assertAlmostEquals((high - low) / (higher - lower), 5, 2);
  assertEquals(medianInterval([1, 1, 1]), [-Infinity, Infinity]);
});

Deno.test("a target is decided when the whole interval is on one side of it", () => {
  const verdict = (wanted: Target["wanted"], interval?: [number, number]) =>
    verdictOf({
      claim: "",
      measured: 1,
      limit: 1.03,
      unit: "",
      wanted,
      ...interval && { interval },
    });
  assertEquals(verdict("at most", [0.98, 1.02]), "met");
  assertEquals(verdict("at most", [0.98, 1.04]), "not decided");
  assertEquals(verdict("at most", [1.04, 1.05]), "missed");
  assertEquals(verdict("at least", [1.04, 1.05]), "met");
  assertEquals(verdict("at least", [0.98, 1.02]), "missed");
  assertEquals([verdict("at most"), verdict("at least")], ["met", "missed"]);
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

Deno.test("replaceBlock() replaces the text between its marks, and nothing else", () => {
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
  const parts =
    "import,cold-start,first-run,per-call,own-work,stampede,clusters,env-update,login-refresh,downloads";
  assertEquals(results.map(({ part }) => part).join(), parts);
  for (const { tables } of results) assert(tables.every(({ rows }) => rows.length > 0));
  const stampede = results.find(({ part }) => part === "stampede");
  // However many processes: one request to the provider for all calls.
  assertEquals(stampede?.tables.map(({ rows }) => rows[0]?.[1]), [1, 1]);
  const clusters = results.find(({ part }) => part === "clusters");
  const ways = ["`.env`", "a command", ...(NO_REDIS ? [] : ["a Redis store"])];
  assertEquals(
    clusters?.tables[0]?.rows.map((row) => row.slice(0, 3)),
    ways.flatMap((way) => [1, 8].map((workers) => [way, workers, 1])),
  );
});
