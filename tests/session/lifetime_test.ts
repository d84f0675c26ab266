import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { SessionExpiredError } from "../../mod.ts";
import { portless, type PortlessOptions, rejection, signedIn } from "../support/portless.ts";
import { jwt, tokenAnswer } from "../support/answers.ts";

/** A provider whose tokens last this long and are unsigned, so that thousands can be issued fast. */
function lasting(seconds: number, options: PortlessOptions = {}): ReturnType<typeof portless> {
  return portless({
    provider: () => tokenAnswer({ AccessToken: jwt({}), RefreshToken: "r", ExpiresIn: seconds }),
    ...options,
  });
}

/** Seconds from the login to the first refresh, if a call is made every second. */
async function firstRefreshAfter(seconds: number): Promise<number> {
  await using world = lasting(seconds);
  await world.session.login();
  const start = world.clock.now();
  world.clock.advance(Math.floor(Math.max(seconds * 0.2, seconds - 310)));
  await world.session.accessToken();
  while (world.refreshes() === 0 && world.clock.now() - start < seconds * 1_000) {
    world.clock.advance(1);
    await world.session.accessToken();
  }
  return (world.clock.now() - start) / 1_000;
}

for (
  const [seconds, earliest, latest] of [
    [20, 13, 16],
    [1_800, 1_618, 1_667],
    [86_400, 86_098, 86_177],
  ] as const
) {
  Deno.test(`a token with a lifetime of ${seconds} seconds is refreshed shortly before it expires`, async () => {
    for (let i = 0; i < 10; i++) {
      const after = await firstRefreshAfter(seconds);
      assert(after >= earliest && after <= latest, `refreshed after ${after} seconds`);
    }
  });
}

Deno.test("sessions whose tokens expire at the same time refresh at different times", async () => {
  const times = new Set<number>();
  for (let i = 0; i < 30; i++) times.add(await firstRefreshAfter(86_400));
  assert(times.size > 5, `30 sessions refreshed at ${times.size} different seconds`);
});

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
    let good = token;
    await using world = portless({
      provider: (_, count) => {
        good = count === 1 ? token : `opaque-${count}`;
        return tokenAnswer({ AccessToken: good, RefreshToken: "r" });
      },
      api: (request) =>
        new Response("", {
          status: request.headers.get("authorization") === `bearer ${good}` ? 200 : 401,
        }),
    });
    const status = await world.session.login();
    assertEquals(status.state, "unknown");
    assertEquals(status.accessTokenExpiresAt, undefined);
    world.clock.advance(90_000);
    assertEquals((await world.session.authFetch("/v1/x")).status, 200);
    assertEquals(world.refreshes(), 0);
    good = "another one";
    assertEquals((await world.session.authFetch("/v1/x")).status, 200);
    assertEquals(world.refreshes(), 1);
  }
});

Deno.test("the lifetime of a token starts with the request, even if the provider is slow", async () => {
  await using world = lasting(1_800);
  const start = world.clock.now();
  const held = world.hold();
  const login = world.session.login();
  await held.arrived;
  world.clock.advance(20);
  held.release();
  assertEquals((await login).accessTokenExpiresAt, new Date(start + 1_800_000));
});

Deno.test("a call with an expired token that cannot be refreshed fails before any request", async () => {
  await using world = portless();
  await world.session.login({ portalToken: await world.sandbox.portalToken() });
  world.clock.advance(1_801);
  assertEquals(world.session.status().state, "expired");
  const errors = [
    await rejection(world.session.authFetch("/v1/whoami")),
    await rejection(world.session.accessToken()),
    await rejection(world.session.refresh()),
  ];
  for (const error of errors) {
    assertInstanceOf(error, SessionExpiredError);
    assertEquals(error.code, "CANNOT_REFRESH");
    assert(error.message.includes("login("), error.message);
  }
  assertEquals(world.called.length, 0);
  assertEquals(world.sent.length, 0);
});

Deno.test("after a failed early refresh, calls use the valid token, and the next refresh waits 30 seconds", async () => {
  await using world = await signedIn();
  const token = await world.session.accessToken();
  world.clock.advance(1_670);
  world.sandbox.failures.push({ at: "token", status: 503 });
  assertEquals(await world.session.accessToken(), token);
  const tried = world.refreshes();
  assert(tried > 0);
  const { warnings } = world.session.status();
  assert(warnings.some((it) => it.includes("still valid")), warnings.join());
  world.clock.advance(20);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  assertEquals(world.refreshes(), tried, "no refresh within 30 seconds");
  world.clock.advance(15);
  world.sandbox.failures.length = 0;
  await world.session.accessToken();
  assertEquals(world.refreshes(), tried + 1);
  assertEquals(world.session.status().warnings, []);
});

Deno.test("a call fails if its token expires while refreshes fail", async () => {
  await using world = await signedIn();
  world.clock.advance(1_780);
  world.sandbox.failures.push({ at: "token", status: 503 });
  await world.session.accessToken();
  world.clock.advance(21);
  assertEquals((await rejection(world.session.accessToken())).code, "SERVER_ERROR");
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "SERVER_ERROR");
  assertEquals(world.called.length, 0);
});

Deno.test("accessToken() refreshes a token that expires within minValidSeconds", async () => {
  await using world = await signedIn();
  const token = await world.session.accessToken();
  world.clock.advance(1_000);
  assertEquals(await world.session.accessToken({ minValidSeconds: 700 }), token);
  assert(await world.session.accessToken({ minValidSeconds: 900 }) !== token);
  assertEquals(world.refreshes(), 1);
});

Deno.test("accessToken() does not refresh on every call if no token lasts for minValidSeconds", async () => {
  await using world = lasting(20, { session: { random: () => 0.5 } });
  await world.session.login();
  const wanted = { minValidSeconds: 3_600 };
  for (let second = 0; second < 5; second++) {
    await world.session.accessToken(wanted);
    await world.session.accessToken(wanted);
    world.clock.advance(1);
  }
  assertEquals(world.refreshes(), 0);
  // About a third of the lifetime has passed, so that a new token offers more.
  world.clock.advance(1);
  await world.session.accessToken(wanted);
  await world.session.accessToken(wanted);
  assertEquals(world.refreshes(), 1);
});
