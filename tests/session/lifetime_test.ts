import { assert, assertEquals } from "@std/assert";
import { portless, rejection, signedIn, type TestOptions } from "../support/portless.ts";
import { jwt, tokenAnswer } from "../support/answers.ts";

/** A session whose tokens last this long. */
function lasting(seconds: number, session: TestOptions) {
  const answer = { AccessToken: jwt({}), RefreshToken: "r", ExpiresIn: seconds };
  return signedIn({ provider: () => tokenAnswer(answer), session });
}

const MARGINS: [lifetime: number, chance: number, refreshAfter: number][] = [
  [20, 1, 20 - 20 / 3],
  [1_800, 1, 1_800 - 180],
  [86_400, 0, 86_400 - 225],
  [86_400, 1, 86_400 - 300],
];
for (const [seconds, chance, refreshAfter] of MARGINS) {
  Deno.test(`a token with a lifetime of ${seconds} seconds is refreshed after ${refreshAfter} seconds`, async () => {
    await using world = await lasting(seconds, { random: () => chance });
    world.clock.advance(refreshAfter - 0.01);
    await world.session.accessToken();
    assertEquals(world.refreshes(), 0);
    world.clock.advance(0.02);
    await world.session.accessToken();
    assertEquals(world.refreshes(), 1);
  });
}

Deno.test("the lifetime of a token is ExpiresIn, or exp - iat if the response has no ExpiresIn", async () => {
  const AccessToken = jwt({ iat: 1_000, exp: 1_600 });
  for (const [ExpiresIn, seconds] of [[1_800, 1_800], [undefined, 600], [0, 600]] as const) {
    await using world = portless({ provider: () => tokenAnswer({ AccessToken, ExpiresIn }) });
    const { accessTokenExpiresAt } = await world.session.login();
    assertEquals(accessTokenExpiresAt, new Date(world.clock.now() + seconds * 1_000));
  }
});

Deno.test("a token without a known expiry is refreshed only after a 401", async () => {
  for (const token of ["opaque", jwt({ exp: 4_000_000_000 })]) {
    const tokens = [token, "another"];
    await using world = portless({
      provider: () => tokenAnswer({ AccessToken: tokens.shift(), RefreshToken: "r" }),
      api: (_, count) => new Response(null, { status: count === 2 ? 401 : 200 }),
    });
    const { state, accessTokenExpiresAt } = await world.session.login();
    assertEquals([state, accessTokenExpiresAt], ["unknown", undefined]);
    world.clock.advance(90_000);
    for (const refreshes of [0, 1]) {
      assertEquals((await world.session.authFetch("/v1/x")).status, 200);
      assertEquals(world.refreshes(), refreshes);
    }
  }
});

Deno.test("while early refreshes fail, calls use the token until it expires, and 30 seconds pass between refreshes", async () => {
  await using world = await signedIn({ session: { random: () => 0.5 } });
  const { session, clock, sandbox } = world;
  const token = await session.accessToken();
  sandbox.failures.push({ at: "token", status: 503 });
  clock.advance(1_740);
  assertEquals(await session.accessToken(), token);
  const attempts = world.refreshes();
  assert(attempts > 0);
  assertEquals(session.status().notices.map(({ code }) => code), ["REFRESH_FAILED"]);
  clock.advance(20);
  assertEquals([await session.accessToken(), world.refreshes()], [token, attempts]);
  clock.advance(15);
  assertEquals([await session.accessToken(), world.refreshes()], [token, 2 * attempts]);
  clock.advance(26);
  assertEquals((await rejection(session.authFetch("/v1/whoami"))).code, "SERVER_ERROR");
  assertEquals(world.called, []);
  sandbox.failures.length = 0;
  assert(await session.accessToken() !== token);
  assertEquals(session.status().warnings, []);
});

Deno.test("accessToken() refreshes a token that expires within minValidSeconds, if a new one offers more", async () => {
  await using world = await lasting(20, { random: () => 0.5 });
  // After about a third of the lifetime, a new token offers more.
  const steps = [[5, 3_600, 0], [1, 10, 0], [0, 3_600, 1], [0, 3_600, 1]] as const;
  for (const [seconds, minValidSeconds, refreshes] of steps) {
    world.clock.advance(seconds);
    await world.session.accessToken({ minValidSeconds });
    assertEquals(world.refreshes(), refreshes);
  }
});
