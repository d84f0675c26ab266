import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { randomFrom } from "../support/random.ts";
import { explore, replay, type Report, sample } from "./explore.ts";
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
    assertNothing(await sample(scenario, 25, randomFrom(1)));
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
  for (let count = 0; count < 24; count++) {
    const scenario = scenarios[Math.floor(random() * scenarios.length)] as Scenario;
    const report = await explore(scenario, { runs: 40 });
    assertNothing(report);
    orders += report.orders;
    if (report.isComplete) complete++;
  }
  console.log(`${orders} orders of two operations; 24 scenarios, ${complete} to their end`);
});

Deno.test("no order of six operations that was tried breaks a session", async () => {
  const random = randomFrom(2);
  let orders = 0;
  for (let count = 0; count < 40; count++) {
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
const PLAIN = { sessions: 2, rotates: true, store: "by text" } as const;
for (const [what, wrap, shape, violation] of faults) {
  Deno.test(`the explorer finds ${what}`, async () => {
    const scenario = { name: what, ...PLAIN, ...shape };
    assertNothing(await explore(scenario, { runs: 100 }));
    const { violations } = await explore(scenario, { runs: 100, wrap });
    assert(
      [...violations.keys()].some((it) => violation.test(it)),
      [...violations.keys()].join(),
    );
  });
}

// Two sessions; one of which two calls share what it remembers; and what ends a call or a process.
const mixed: [string, Op[], Partial<Scenario>, Wrap?][] = [
  ["two sessions", [{ by: 0, do: "refresh" }, { by: 1, do: "token" }], { begins: "due" }],
  ["a lock that many have", [{ by: 0, do: "refresh" }, { by: 1, do: "refresh" }], {}, locksNobody],
  ["one session", [{ by: 0, do: "fetch" }, { by: 0, do: "login" }, { by: 0, do: "logout" }], {}],
  ["an abort", [{ by: 0, do: "refresh", signal: "x" }, { by: 0, do: "token" }], { begins: "due" }],
  ["a crash", [{ by: 0, do: "fetch" }, { by: 1, do: "token" }], { begins: "rejected", crash: 0 }],
];
for (const [what, ops, shape, wrap] of mixed) {
  Deno.test(`the explorer counts and finds the same as running each order: ${what}`, async () => {
    const scenario = { name: what, ...PLAIN, ...shape, ops };
    const fewer = await explore(scenario, { ...(wrap && { wrap }) });
    const each = await explore(scenario, { ...(wrap && { wrap }), isPlain: true });
    assertEquals(each.runs, each.orders);
    assert(fewer.runs < each.runs, `${fewer.runs} runs for ${each.runs} orders`);
    const found = ({ orders, violations }: Report) => [orders, [...violations.keys()].sort()];
    assertEquals(found(fewer), found(each));
  });
}

Deno.test("two states with different tokens in a session are distinct", async () => {
  const ops = [{ by: 0, do: "refresh" }] as const;
  const scenario = { name: "held", ...PLAIN, sessions: 1, ops };
  const { order } = await replay(scenario, []);
  const held = () => /"tokens":\["(.*?)"/.exec(order.snapshot.memories.join())?.[0];
  const before = held();
  await order.ask(0, "refresh");
  assertNotEquals(before, held());
});

Deno.test("a session whose last access token has expired is signed out, whatever the store contains", async () => {
  const ops: Op[] = [{ by: 1, do: "refresh" }, { by: 0, do: "expiry" }];
  const scenario = { name: "ended", ...PLAIN, late: 1, ops };
  const report = await explore(scenario);
  assertNothing(report);
  assert(report.isComplete);
});
