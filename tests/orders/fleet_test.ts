import { assert, assertEquals } from "@std/assert";
import { simulate } from "./fleet.ts";

const DAY = { workers: 40, hours: 4 } as const;

Deno.test("workers on one store refresh once for all, and ask the store once for each token", async () => {
  const figures = await simulate(DAY);
  // Four tokens of an hour: the login's, and three that came by a refresh.
  assertEquals([figures.logins, figures.refreshes, figures.failed], [1, 4, {}]);
  const perToken = figures.questions / DAY.workers / 5;
  assert(perToken >= 1 && perToken < 2, `${perToken} questions for each worker and token`);
  assert(figures.longestWaitMs < 1_000, `${figures.longestWaitMs} ms`);
});

Deno.test("a store that is away for a minute costs no call its token", async () => {
  const storeAway = { at: 1.5, seconds: 60 };
  const figures = await simulate({ ...DAY, storeAway });
  assertEquals(figures.failed, {});
  assert(figures.longestWaitMs < 15_000, `${figures.longestWaitMs} ms`);
});
