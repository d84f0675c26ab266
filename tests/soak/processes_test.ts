import { assertEquals } from "@std/assert";
import { assertKillsHarmless } from "../processes/kills.ts";
import { assertOneRefresh } from "../processes/one_refresh.ts";
import { rounds, SOAK } from "../support/property.ts";

const ignore = SOAK === 0;
const KILLS = rounds(15, 300);
const ROUNDS = rounds(1, 5);

Deno.test("one refresh serves 8 processes of 50 calls each on one expired .env", {
  ignore,
}, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    await assertOneRefresh({ processes: 8, callsEach: 50 });
  }
});

Deno.test(
  "each time a token ends, one GetTokensFromRefreshToken serves 8 new processes of 50 calls each",
  {
    ignore,
  },
  async () => {
    const rotation = "get-tokens";
    await assertOneRefresh({ processes: 8, callsEach: 50, rotation, periods: ROUNDS + 2 });
  },
);

Deno.test(`${KILLS} kills at random moments leave whole files, free locks and a way on`, {
  ignore,
}, async () => {
  const kills = await assertKillsHarmless(KILLS);
  assertEquals(kills.working + kills.rejected, KILLS);
  assertEquals(kills.waited, 0);
  console.log(kills);
});
