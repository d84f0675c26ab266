/** A short run of all parts of the benchmark. bench/README.md has the results. */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { PartResult } from "../../bench/report.ts";
import { outputOf } from "../support/child_deno.ts";

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
});
