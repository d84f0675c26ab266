import { assertEquals, assertInstanceOf, assertMatch, assertNotEquals } from "@std/assert";
import { createSession, type LogEvent, SessionExpiredError } from "../../mod.ts";
import { linesOf, rejection, signedIn, statusOf } from "../support/portless.ts";

const EXPIRED = 3_000;

Deno.test("refresh() needs no password, and keeps the refresh token if the response contains none", async () => {
  await using world = await signedIn({ file: true });
  const before = linesOf(world.envFile);
  world.clock.advance(60);
  const { username: _, password: __, ...settings } = world.options;
  await createSession(settings).refresh();
  const after = linesOf(world.envFile);
  assertEquals(after.REFRESH_TOKEN, before.REFRESH_TOKEN);
  assertEquals(after.AUTHENTICATED_AT, before.AUTHENTICATED_AT);
  assertNotEquals(after.ACCESS_TOKEN, before.ACCESS_TOKEN);
  assertNotEquals(after.ACCESS_TOKEN_EXPIRES_AT, before.ACCESS_TOKEN_EXPIRES_AT);
});

const REJECTIONS = [
  [1, "NotAuthorizedException", "REFRESH_REJECTED", /./],
  [31, "NotAuthorizedException", "REFRESH_WINDOW_OVER", /the login is 31 days old/],
  [31, "RefreshTokenReuseException", "REFRESH_REJECTED", /already used.*same \.env/],
] as const;
for (const [days, name, code, problem] of REJECTIONS) {
  Deno.test(`a ${name} ${days} days after the login causes ${code}, and the token is not sent again`, async () => {
    await using world = await signedIn({ file: true });
    world.clock.advance(days * 86_400);
    const body = JSON.stringify({ __type: name, message: "Refresh Token has expired" });
    world.sandbox.failures.push({ at: "token", status: 400, body });
    const error = await rejection(world.session.refresh());
    assertInstanceOf(error, SessionExpiredError);
    assertEquals(error.code, code);
    assertMatch(error.message, problem);
    assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, code);
    assertEquals([world.refreshes(), linesOf(world.envFile)], [1, {}]);
  });
}

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

Deno.test("a refresh that fails is not retried if all its callers have canceled", async () => {
  const ended = Promise.withResolvers<void>();
  const log = ({ event }: LogEvent) => event === "refresh" && ended.resolve();
  await using world = await signedIn({ session: { log } });
  world.sandbox.failures.push({ at: "token", status: 503 });
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const abort = new AbortController();
  const { signal } = abort;
  const calls = [1, 2].map(() => rejection(world.session.accessToken({ signal })));
  await held.arrived;
  abort.abort();
  await Promise.all(calls);
  held.release();
  await ended.promise;
  assertEquals(world.refreshes(), 1);
});

Deno.test("a call whose signal is already aborted sends nothing", async () => {
  await using world = await signedIn();
  const signal = AbortSignal.abort(new Error("never mind"));
  const { refresh, login, accessToken, authFetch, logout } = world.session;
  const calls = [
    refresh({ signal }),
    login({ force: true, signal }),
    accessToken({ minValidSeconds: 3_000, signal }),
    authFetch("/v1/whoami", { signal }),
    logout({ signal }),
  ];
  for (const call of calls) assertEquals((await rejection(call)).message, "never mind");
  assertEquals(await statusOf(authFetch("/v1/whoami")), 200);
  assertEquals([world.sent.length, world.called.length], [1, 1]);
});
