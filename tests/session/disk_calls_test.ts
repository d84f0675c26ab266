/** The number of disk accesses. Each one is slow if the home folder is on a network drive. */
import { assert, assertEquals } from "@std/assert";
import { diskCalls } from "../support/disk_calls.ts";
import { signedIn } from "../support/portless.ts";

Deno.test("a hundred calls with an expired token share one refresh and access the disk as often as one call", async () => {
  await using world = await signedIn({ file: true });
  const asked = async (calls: number) => {
    world.clock.advance(3_000);
    return await diskCalls(async () => {
      await Promise.all(Array.from({ length: calls }, () => world.session.accessToken()));
    });
  };
  await asked(1);
  const one = await asked(1);
  assert(one.stats > 0);
  assertEquals(await asked(100), one);
  assertEquals(world.refreshes(), 3);
});

Deno.test("a call with a valid token does not access the disk", async () => {
  await using world = await signedIn({ file: true });
  // The first call looks for proxies in the environment.
  await world.session.authFetch("/v1/whoami");
  const counts = await diskCalls(async () => {
    await world.session.accessToken();
    await world.session.authFetch("/v1/whoami");
    await world.session.authFetch("/v1/whoami");
  });
  assertEquals(counts, { reads: 0, stats: 0, realPaths: 0, permissions: 0 });
});
