import { assert, assertEquals } from "@std/assert";
import { portless, statusOf } from "../../support/portless.ts";
import { refusedConnection } from "../../support/answers.ts";

// Claims of docs/reliability.md and docs/clusters.md that no other test proves.

/** Calls the API every ten seconds. Returns the number of calls that failed. */
async function failuresIn(outage: { from: number; to: number }, chance: number): Promise<number> {
  await using world = portless();
  const { clock, options, sandbox } = world;
  const start = clock.now();
  const second = () => (clock.now() - start) / 1_000;
  const session = world.another({
    random: () => chance,
    fetch: async (input, init) => {
      const isDown = second() >= outage.from && second() < outage.to;
      const { origin } = new URL(input instanceof Request ? input.url : input);
      if (isDown && origin === sandbox.authUrl) return await refusedConnection();
      return await options.fetch(input, init);
    },
  });
  await session.login();
  let failed = 0;
  while (second() < 2_000) {
    await statusOf(session.authFetch("/v1/whoami")).then(
      (status) => assertEquals(status, 200),
      ({ code }) => {
        assertEquals(code, "UNREACHABLE");
        failed++;
      },
    );
    clock.advance(10);
  }
  return failed;
}

for (const chance of [0, 0.99]) {
  Deno.test(`calls every ten seconds succeed during two minutes without the provider (random: ${chance})`, async () => {
    for (let from = 1_500; from <= 1_800; from += 20) {
      assertEquals(await failuresIn({ from, to: from + 120 }, chance), 0, `from ${from}`);
    }
    // A longer outage outlasts the token.
    assert(await failuresIn({ from: 1_600, to: 1_900 }, chance) > 0);
  });
}
