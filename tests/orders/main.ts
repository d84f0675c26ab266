/**
 * Explores the orders in which the outside world can answer two sessions on one store, and prints
 * what it found. Ends with status 1 if a rule is broken.
 *
 *     deno run --lock=tests/deno.lock -A tests/orders/main.ts [seconds] [seed] [pattern]
 *
 * `seconds` for each part, by default 60, shared by its scenarios; `seed` of what is chosen by chance, by
 * default 1; `pattern`: only scenarios whose part and name match, such as "^two operations". Named
 * scenarios and those of up to four operations are explored to their end, where the time is enough, in
 * an order by chance; then orders by chance of four and six operations with all that may go wrong.
 *
 * `explore.ts` says how few runs stand for all orders, and why none is left out: `state_names.ts` for
 * orders that come to the same state, `commute.ts` for events that touch nothing in common. On one core
 * all orders of two operations take two to three minutes, in 48,000 runs. A scenario of three takes some
 * seconds, and all 3,892 of them several hours. Each scenario has an equal share of the time, so give
 * more `seconds` than that: 600 and 36000.
 */
import { randomFrom } from "../support/random.ts";
import { explore, type Report, sample } from "./explore.ts";
import { NAMED } from "./named.ts";
import type { Scenario } from "./scenario.ts";
import { combinations, longStory, scenariosOf, type Trouble, TROUBLES } from "./scenarios.ts";

const [seconds = "60", seed = "1", pattern = ""] = Deno.args;
const random = randomFrom(Number(seed));
const partMs = Number(seconds) * 1_000;
const broken: { scenario: Scenario; what: string; trace: readonly string[] }[] = [];

/** Explores one part and prints a line about it. */
async function part(name: string, all: readonly Scenario[], run = explore): Promise<void> {
  const scenarios = all.filter((scenario) => new RegExp(pattern).test(`${name}: ${scenario.name}`));
  if (scenarios.length === 0) return;
  const began = performance.now();
  const leftMs = () => partMs - (performance.now() - began);
  const reports: Report[] = [];
  for (const [index, scenario] of scenarios.entries()) {
    if (leftMs() <= 0) break;
    const report = await run(scenario, { ms: leftMs() / (scenarios.length - index) });
    reports.push(report);
    for (const [what, { trace }] of report.violations) broken.push({ scenario, what, trace });
  }
  const sum = (of: (report: Report) => number) =>
    reports.reduce((all, report) => all + of(report), 0).toLocaleString("en");
  console.log(
    `${name}: ${sum(({ orders }) => orders)} orders in ${sum(({ runs }) => runs)} runs, ` +
      `${sum(({ isComplete }) => isComplete ? 1 : 0)} of ${scenarios.length} ` +
      `scenarios to their end, ` +
      `${sum(({ violations }) => violations.size)} violations, ` +
      `${Math.round((performance.now() - began) / 1_000)} seconds`,
  );
}

function all(count: number, troubles: readonly Trouble[]): Scenario[] {
  return combinations(count).flatMap((ops) =>
    [true, false].flatMap((rotates) =>
      troubles.flatMap((trouble) => scenariosOf(ops, rotates, trouble))
    )
  );
}

function shuffled<T>(items: readonly T[]): T[] {
  return items.map((item) => [random(), item] as const).sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

await part("named", NAMED);
await part("one operation", all(1, TROUBLES));
await part("two operations", shuffled(all(2, TROUBLES)));
await part("three operations", shuffled(all(3, TROUBLES)));
await part("four operations", shuffled(all(4, ["nothing"])));
await part(
  "four operations, with troubles",
  shuffled(all(4, TROUBLES)).slice(0, 20 * Number(seconds)),
  (scenario, limits) => sample(scenario, 50, random, limits),
);
await part(
  "six operations",
  Array.from({ length: 100 * Number(seconds) }, () => longStory(random)),
  (scenario, limits) => sample(scenario, 5, random, limits),
);

const shortest = new Map<string, typeof broken[number]>();
for (const each of broken) {
  const kind = each.what.replaceAll(/-\d+/g, "");
  const known = shortest.get(kind);
  if (known === undefined || each.trace.length < known.trace.length) shortest.set(kind, each);
}
for (const { scenario, what, trace } of shortest.values()) {
  console.log(`\n${what}\n  in: ${scenario.name}\n  by: ${trace.join("; ")}`);
}
if (broken.length > 0) Deno.exit(1);
