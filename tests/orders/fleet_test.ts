import { assert, assertEquals } from "@std/assert";
import { simulate } from "./fleet.ts";

const DAY = { workers: 40, hours: 4 } as const;

Deno.test("workers on one store refresh once for all, and ask the store once for each token", async () => {
  const figures = await simulate({ ...DAY, sessions: "in one store" });
  // Four tokens of an hour: the login's, and three that came by a refresh.
  assertEquals([figures.logins, figures.refreshes, figures.failed], [1, 4, {}]);
  const perToken = figures.questions / DAY.workers / 5;
  assert(perToken >= 1 && perToken < 2, `${perToken} questions for each worker and token`);
  assert(figures.longestWaitMs < 1_000, `${figures.longestWaitMs} ms`);
});

Deno.test("a store that is away for a minute costs no call its token", async () => {
  const storeAway = { at: 1.5, seconds: 60 };
  const figures = await simulate({ ...DAY, sessions: "in one store", storeAway });
  assertEquals(figures.failed, {});
  assert(figures.longestWaitMs < 15_000, `${figures.longestWaitMs} ms`);
});

Deno.test("workers with logins of their own ask the provider for each of them", async () => {
  const figures = await simulate({ ...DAY, sessions: "of their own" });
  assertEquals(figures.logins, DAY.workers);
  assert(figures.refreshes >= 3 * DAY.workers && figures.refreshes <= 4 * DAY.workers + 40);
  assertEquals(figures.questions, 0);
});
