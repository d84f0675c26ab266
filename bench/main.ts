/**
 * Measures the cost of the client, from source and as released, compared with bare requests and
 * with other clients.
 *
 * `deno task bench [--only=PART]… [--json] [--write]`: prints tables, or JSON; `--write` puts the
 * tables into bench/README.md, too.
 */
import { parseArgs } from "node:util";
import { clusters } from "./clusters.ts";
import { coldStart } from "./cold_start.ts";
import { writeTables } from "./document.ts";
import { downloads } from "./downloads.ts";
import { firstRun } from "./first_run.ts";
import { importCost } from "./import_cost.ts";
import { loginRefresh } from "./login_refresh.ts";
import { describeMachine, machineText } from "./machine.ts";
import { ownWork } from "./own_work.ts";
import type { Part } from "./part.ts";
import { perCall } from "./per_call.ts";
import { pathOf } from "./processes.ts";
import { removeReleased } from "./released.ts";
import { markdownOf, type PartResult, verdictOf } from "./report.ts";
import { stampede } from "./stampede.ts";

const PARTS: Readonly<Record<string, Part>> = {
  "import": importCost,
  "cold-start": coldStart,
  "first-run": firstRun,
  "per-call": perCall,
  "own-work": ownWork,
  "stampede": stampede,
  "clusters": clusters,
  "login-refresh": loginRefresh,
  "downloads": downloads,
};

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    smoke: { type: "boolean" },
    json: { type: "boolean" },
    write: { type: "boolean" },
  },
});
const names = values.only ?? Object.keys(PARTS);
const effort = values.smoke ? "smoke" : "full";
const unknown = names.find((name) => PARTS[name] === undefined);
if (unknown !== undefined) {
  console.error(`There is no part ${unknown}; there are ${Object.keys(PARTS).join(", ")}`);
  Deno.exit(2);
}
const started = performance.now();
const machine = describeMachine();
const results: PartResult[] = [];
if (!values.json) console.log(machineText(machine));
let failed = 0;
for (const name of names) {
  const part = PARTS[name];
  if (part === undefined) continue;
  try {
    const result = await part(effort);
    results.push(result);
    if (!values.json) console.log(`\n## ${name}\n\n${markdownOf(result)}`);
    // Written part by part, so that the results are not lost if a later part fails.
    if (values.write) await writeTables(pathOf("README.md"), machine, [result]);
  } catch (error) {
    failed++;
    console.error(`\nCannot measure ${name}:`, error);
  }
}
await removeReleased();
const seconds = Math.round((performance.now() - started) / 1_000);
if (values.json) console.log(JSON.stringify({ machine, seconds, results }, null, 2));
else {
  const targets = results.flatMap((result) => result.targets);
  for (const verdict of ["met", "missed", "not decided"] as const) {
    const claims = targets.filter((target) => verdictOf(target) === verdict)
      .map(({ claim }) => claim);
    const named = verdict === "met" || claims.length === 0 ? "" : `: ${claims.join("; ")}`;
    console.log(`\n${claims.length} ${verdict}${named}`);
  }
  console.log(`\nTook ${seconds} s.`);
}
Deno.exit(failed === 0 ? 0 : 1);
