import { assert, assertEquals } from "@std/assert";
import { assertKillsHarmless } from "../processes/kills.ts";
import { assertOneRefresh } from "../processes/one_refresh.ts";

const ignore = !Deno.env.get("SOAK");

Deno.test("one refresh serves 8 processes of 50 calls each on one expired .env", {
  ignore,
}, async () => {
  for (let round = 0; round < 5; round++) await assertOneRefresh(8, 50);
});

Deno.test("300 kills at random moments leave whole files, free locks and a way on", {
  ignore,
}, async () => {
  const kills = await assertKillsHarmless(300);
  assertEquals(kills.working + kills.rejected, 300);
  console.log(kills);
  // "At once": what takes longer waited for a lock or a deadline.
  assert(kills.slowest < 5_000, `${kills.slowest} ms`);
});
