import { assert, assertEquals } from "@std/assert";
import { randomFrom } from "../support/random.ts";
import { explore, type Report, sample } from "./explore.ts";
import { comparesNothing, hidesNews, locksNobody } from "./faults.ts";
import { NAMED } from "./named.ts";
import type { Wrap } from "./order.ts";
import type { Op, Scenario } from "./scenario.ts";
import { combinations, longStory, scenariosOf, TROUBLES } from "./scenarios.ts";

function assertNothing({ scenario, violations }: Report): void {
  const found = [...violations].map(([what, { trace }]) => `${what}: ${trace.join("; ")}`);
  assertEquals(found, [], scenario.name);
}

for (const scenario of NAMED) {
  Deno.test(`never again: ${scenario.name}`, async () => {
    assertNothing(await sample(scenario, 40, randomFrom(1)));
  });
}

Deno.test("no order of the events of two operations breaks a session", async () => {
  const scenarios = combinations(2).flatMap((ops) =>
    [true, false].flatMap((rotates) =>
      TROUBLES.flatMap((trouble) => scenariosOf(ops, rotates, trouble))
    )
  );
  const random = randomFrom(1);
  let [orders, complete] = [0, 0];
  for (let count = 0; count < 40; count++) {
    const scenario = scenarios[Math.floor(random() * scenarios.length)] as Scenario;
    const report = await explore(scenario, { runs: 25 });
    assertNothing(report);
    orders += report.orders;
    if (report.isComplete) complete++;
  }
  console.log(`${orders} orders of two operations; 40 scenarios, ${complete} to their end`);
});

Deno.test("no order of six operations that was tried breaks a session", async () => {
  const random = randomFrom(2);
  let orders = 0;
  for (let count = 0; count < 60; count++) {
    const report = await sample(longStory(random), 5, random);
    assertNothing(report);
    orders += report.orders;
  }
  console.log(`${orders} orders of six operations`);
});

const faults: [string, Wrap, Partial<Scenario> & { ops: Op[] }, RegExp][] = [
  [
    "a session that does not see what others wrote while it saves",
    hidesNews,
    { ops: [{ by: 0, do: "refresh" }, { by: 1, do: "refresh" }] },
    /^a replaced refresh token is sent again$/,
  ],
  [
    "a write that replaces what others wrote meanwhile",
    comparesNothing,
    { ops: [{ by: 0, do: "refresh" }, { by: 1, do: "login" }], busy: 1 },
    /^first was over, and is saved again$/,
  ],
  [
    "a lock that many have at once",
    locksNobody,
    { ops: [{ by: 0, do: "refresh" }, { by: 1, do: "refresh" }] },
    /^a replaced refresh token is sent again$/,
  ],
];
for (const [what, wrap, shape, violation] of faults) {
  Deno.test(`the explorer finds ${what}`, async () => {
    const scenario = {
      name: what,
      sessions: 2,
      rotates: true,
      store: "by text",
      ...shape,
    } as const;
    assertNothing(await explore(scenario, { runs: 100 }));
    const { violations } = await explore(scenario, { runs: 100, wrap });
    assert(
      [...violations.keys()].some((it) => violation.test(it)),
      [...violations.keys()].join(),
    );
  });
}

Deno.test("the explorer counts each order once", async () => {
  // Two operations that touch nothing in common, and two that do: all ways to mix their events.
  const ops = [{ by: 0, do: "token" }, { by: 1, do: "token" }] as const;
  const scenario = { name: "apart", sessions: 2, rotates: false, store: "by text", ops } as const;
  const { isComplete, orders, runs } = await explore(scenario);
  assertEquals({ isComplete, orders, runs }, { isComplete: true, orders: 2, runs: 1 });
});
