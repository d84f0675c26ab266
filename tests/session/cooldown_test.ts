/** When a session does not refresh, and when a login is made all the same. */
import { assertEquals } from "@std/assert";
import { portless, rejection } from "../support/portless.ts";
const PASSING = { at: "token", status: 503 } as const;

Deno.test("a plain login() whose refresh fails for a passing reason throws and sends no password", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  world.clock.advance(3_000);
  world.sandbox.failures.push(PASSING);
  assertEquals((await rejection(world.session.login())).code, "SERVER_ERROR");
  assertEquals(world.logins(), 1);
  world.sandbox.failures.length = 0;
  assertEquals((await world.session.login()).source, "refresh");
  assertEquals(world.logins(), 1);
});

Deno.test("a login ends the cooldown after a 401 that a refresh did not help with", async () => {
  let answer = 401;
  await using world = portless({ api: () => new Response(null, { status: answer }) });
  await world.session.login();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals(world.refreshes(), 1);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals(world.refreshes(), 1, "it cools down");
  await world.session.login({ force: true });
  await world.session.authFetch("/v1/whoami");
  assertEquals(world.refreshes(), 2);
  answer = 200;
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
});

Deno.test("a refresh that helped after a 401 ends the cooldown", async () => {
  await using world = portless();
  await world.session.login();
  for (let round = 1; round <= 3; round++) {
    world.clock.advance(2);
    world.sandbox.expireAccessTokens();
    world.clock.advance(2);
    assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
    assertEquals(world.refreshes(), round);
  }
});
