/** The benchmark's own arithmetic and a short run of all its parts. bench/README.md has the results. */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type PartResult, type Target, verdictOf } from "../../bench/report.ts";
import { outputOf } from "../support/child_deno.ts";
import { NO_REDIS } from "../support/redis_server.ts";

Deno.test("a benchmark's target is met or missed only if the whole interval is on one side of it", () => {
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

Deno.test("every part of the benchmark runs and prints JSON", async () => {
  const script = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));
  const { code, stdout, stderr } = await outputOf(Deno.execPath(), {
    args: ["run", "--quiet", "-A", script, "--smoke", "--json"],
  });
  assertEquals(stderr, "");
  assertEquals(code, 0);
  const { results }: { results: PartResult[] } = JSON.parse(stdout);
  const parts =
    "import,cold-start,first-run,per-call,own-work,stampede,clusters,login-refresh,downloads";
  assertEquals(results.map(({ part }) => part).join(), parts);
  for (const { tables } of results) assert(tables.every(({ rows }) => rows.length > 0));
  const stampede = results.find(({ part }) => part === "stampede");
  // All calls share one request to the provider.
  assertEquals(stampede?.tables[0]?.rows.map((row) => row[1]), ["1", "1"]);
  const clusters = results.find(({ part }) => part === "clusters");
  const ways = ["`.env`", ...(NO_REDIS ? [] : ["a Redis store"])];
  assertEquals(
    clusters?.tables[0]?.rows.map((row) => row.slice(0, 3)),
    ways.flatMap((way) => [1, 8].map((workers) => [way, workers, 1])),
  );
});
