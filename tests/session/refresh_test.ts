import { assertEquals, assertInstanceOf, assertMatch, assertNotEquals } from "@std/assert";
import { createSession, SessionExpiredError } from "../../mod.ts";
import { jwt, tokenAnswer, TOKENS } from "../support/answers.ts";
import { linesOf, rejection, signedIn, statusOf } from "../support/portless.ts";

const EXPIRED = 3_000;

Deno.test("100 concurrent calls with an expired token share one refresh", async () => {
  await using world = await signedIn();
  world.clock.advance(EXPIRED);
  const calls = Array.from({ length: 100 }, () => statusOf(world.session.authFetch("/v1/whoami")));
  assertEquals(new Set(await Promise.all(calls)), new Set([200]));
  assertEquals(world.refreshes(), 1);
  assertEquals(new Set(world.called.map((call) => call.authorization)).size, 1);
});

Deno.test("refresh() always requests a new token, even if the old one is valid", async () => {
  await using world = await signedIn();
  const first = await world.session.accessToken();
  await world.session.refresh();
  const second = await world.session.accessToken();
  await world.session.refresh();
  assertEquals(world.refreshes(), 2);
  assertNotEquals(first, second);
});

Deno.test("a refresh keeps the refresh token if the response contains none", async () => {
  await using world = await signedIn({ file: true });
  const before = linesOf(world.envFile);
  world.clock.advance(60);
  await world.session.refresh();
  const after = linesOf(world.envFile);
  assertEquals(after.REFRESH_TOKEN, before.REFRESH_TOKEN);
  assertEquals(after.AUTHENTICATED_AT, before.AUTHENTICATED_AT);
  assertNotEquals(after.ACCESS_TOKEN, before.ACCESS_TOKEN);
  assertNotEquals(after.ACCESS_TOKEN_EXPIRES_AT, before.ACCESS_TOKEN_EXPIRES_AT);
});

Deno.test("a refresh accepts a token that lacks the user name of the login", async () => {
  const answers = [jwt({ username: "student", sub: "s-1" }), jwt({ sub: "s-1" }), "opaque-token"];
  await using world = await signedIn({
    provider: (_, count) => tokenAnswer({ ...TOKENS, AccessToken: answers[count - 1] }),
  });
  for (const token of answers.slice(1)) {
    await world.session.refresh();
    assertEquals(await world.session.accessToken(), token);
  }
});

Deno.test("the error of a rejected refresh says whether the login is older than 30 days", async () => {
  for (const [days, code] of [[1, "REFRESH_REJECTED"], [31, "REFRESH_WINDOW_OVER"]] as const) {
    await using world = await signedIn({ file: true });
    world.clock.advance(days * 86_400);
    world.sandbox.revokeRefreshTokens();
    const error = await rejection(world.session.refresh());
    assertInstanceOf(error, SessionExpiredError);
    assertEquals(error.code, code);
    assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, code);
    assertEquals(world.refreshes(), 1, "a rejected refresh token is not sent again");
    assertEquals(linesOf(world.envFile), {});
  }
});

Deno.test("a rejected refresh keeps a valid access token", async () => {
  await using world = await signedIn({ file: true });
  const token = await world.session.accessToken();
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(world.session.refresh())).code, "REFRESH_REJECTED");
  assertEquals(await world.session.accessToken(), token);
  assertEquals(world.session.status().canRefresh, false);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, token);
  assertEquals(linesOf(world.envFile).REFRESH_TOKEN, undefined);
  // The session's own save is not mistaken for a change by another process: the reason stays known.
  world.clock.advance(EXPIRED);
  assertEquals((await rejection(world.session.accessToken())).code, "REFRESH_REJECTED");
});

Deno.test("the error for a reused refresh token differs from the error for an expired one", async () => {
  const cases = [
    ["RefreshTokenReuseException", "REFRESH_REJECTED", /already used.*same \.env/],
    ["NotAuthorizedException", "REFRESH_WINDOW_OVER", /the login is 40 days old/],
  ] as const;
  for (const [name, code, problem] of cases) {
    await using world = await signedIn();
    world.clock.advance(40 * 86_400);
    const body = JSON.stringify({ __type: name, message: "no" });
    world.sandbox.failures.push({ at: "token", status: 400, body });
    const error = await rejection(world.session.refresh());
    assertEquals(error.code, code);
    assertMatch(error.message, problem);
  }
});

const FAILURES = [[0, "still renews the session"], [1, "that fails is not retried"]] as const;
for (const [failures, what] of FAILURES) {
  Deno.test(`a refresh ${what} if all its callers have canceled`, async () => {
    await using world = await signedIn();
    world.sandbox.failures.push({ at: "token", status: 503, times: failures });
    world.clock.advance(EXPIRED);
    const held = world.hold();
    const abort = new AbortController();
    const { signal } = abort;
    const calls = [
      rejection(world.session.accessToken({ signal })),
      rejection(world.session.authFetch("/v1/whoami", { signal })),
    ];
    await held.arrived;
    abort.abort();
    await Promise.all(calls);
    held.release();
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done, 0));
    assertEquals(world.refreshes(), 1);
    await world.session.accessToken();
    assertEquals(world.refreshes(), 1 + failures);
  });
}

Deno.test("a call whose signal is already aborted sends nothing", async () => {
  await using world = await signedIn();
  const signal = AbortSignal.abort(new Error("never mind"));
  const { refresh, login, accessToken, authFetch, logout } = world.session;
  const errors = await Promise.all([
    rejection(refresh({ signal })),
    rejection(login({ force: true, signal })),
    rejection(accessToken({ minValidSeconds: 3_000, signal })),
    rejection(authFetch("/v1/whoami", { signal })),
    rejection(logout({ signal })),
  ]);
  for (const { message } of errors) assertEquals(message, "never mind");
  // Any request that would still be started has been started by now.
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([world.sent.length, world.called.length], [1, 0]);
  assertEquals(world.session.status().state, "valid");
});

Deno.test("the request of a refresh has only half the usual time limit if the session has a .env", async () => {
  const limits: Record<string, number> = {};
  for (const file of [true, false]) {
    const timeout = (ms: number) => (limits[`${file}`] = ms, new AbortController().signal);
    await using world = await signedIn({ file, session: { timeout } });
    await world.session.refresh();
  }
  assertEquals(2 * (limits.true ?? 0), limits.false);
});

Deno.test("refresh() needs only the settings and a refresh token", async () => {
  await using world = await signedIn({ file: true });
  const { REFRESH_TOKEN = "" } = linesOf(world.envFile);
  const { username: _, password: __, ...settings } = world.options;
  Deno.writeTextFileSync(world.envFile, `REFRESH_TOKEN=${REFRESH_TOKEN}\n`);
  const session = createSession(settings);
  assertEquals((await session.refresh()).state, "valid");
  const saved = linesOf(world.envFile);
  assertEquals(saved.REFRESH_TOKEN, REFRESH_TOKEN);
  assertEquals(saved.ACCESS_TOKEN, await session.accessToken());
  assertEquals([world.logins(), world.refreshes()], [1, 1]);
});
