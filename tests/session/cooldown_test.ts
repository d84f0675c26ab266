/** When a session does not refresh, and when a login is made all the same. */
import { assertEquals, assertMatch } from "@std/assert";
import { portless, rejection } from "../support/portless.ts";

/** A token of half an hour is replaced a little earlier from here on. */
const NEARLY_EXPIRED = 1_790;
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

Deno.test("a login ends the cooldown after an early refresh that failed", async () => {
  await using world = portless();
  await world.session.login();
  world.clock.advance(NEARLY_EXPIRED);
  world.sandbox.failures.push({ at: "token", status: 400, body: '{"__type":"OddException"}' });
  await world.session.accessToken();
  const failed = world.refreshes();
  await world.session.accessToken();
  assertEquals(world.refreshes(), failed, "it cools down");
  world.sandbox.failures.length = 0;
  world.clock.advance(-NEARLY_EXPIRED + 1);
  await world.session.login({ force: true });
  world.clock.advance(NEARLY_EXPIRED);
  await world.session.accessToken();
  assertEquals(world.refreshes(), failed + 1);
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

Deno.test("status() warns of an unreadable .env, with a fix", async () => {
  await using world = portless({ file: true });
  Deno.writeFileSync(world.envFile, new Uint8Array([0xff, 0xfe, 0x00]));
  const { state, warnings } = world.session.status();
  assertEquals(state, "none");
  assertMatch(warnings.join(), /it is not UTF-8 text; save it as UTF-8/);
  const error = await rejection(world.session.accessToken());
  assertMatch(error.message, /not UTF-8 text/);
});

Deno.test("a session in memory has the whole deadline for its refresh, one on a file leaves half to others", async () => {
  for (const file of [false, true]) {
    await using world = portless({ file });
    await world.session.login();
    world.clock.advance(3_000);
    const headers = { "retry-after": "20" };
    world.sandbox.failures.push({ at: "token", status: 429, headers, times: 1 });
    const call = world.session.accessToken();
    if (file) assertEquals((await rejection(call)).code, "THROTTLED");
    else assertEquals(typeof await call, "string");
  }
});
