/** A short run of all parts of the benchmark. bench/README.md has the results. */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { PartResult } from "../../bench/report.ts";
import { outputOf } from "../support/child_deno.ts";
import { NO_REDIS } from "../support/redis_server.ts";

Deno.test("every part of the benchmark runs and prints JSON", async () => {
  const script = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));
  const { code, stdout, stderr } = await outputOf(Deno.execPath(), {
    args: ["run", "--quiet", "-A", script, "--smoke", "--json"],
  });
  assertEquals([code, stderr], [0, ""]);
  const { results }: { results: PartResult[] } = JSON.parse(stdout);
  for (const { part, tables } of results) {
    assert(tables.length > 0 && tables.every(({ rows }) => rows.length > 0), part);
  }
  const tablesOf = (name: string) => results.find(({ part }) => part === name)?.tables ?? [];
  // All calls share one request to the provider.
  assertEquals(tablesOf("stampede")[0]?.rows.map((row) => row[1]), ["1", "1"]);
  const ways = ["`.env`", ...(NO_REDIS ? [] : ["a Redis store"])];
  assertEquals(
    tablesOf("clusters")[0]?.rows.map((row) => row.slice(0, 3)),
    ways.flatMap((way) => [1, 8].map((workers) => [way, workers, 1])),
  );
});
