import { assertEquals, assertInstanceOf, assertMatch, assertNotEquals } from "@std/assert";
import { SessionExpiredError } from "../../mod.ts";
import { linesOf, rejection, signedIn } from "../support/portless.ts";
import { errorAnswer } from "../support/answers.ts";

const EXPIRED = 3_000;

Deno.test("one refresh serves 100 concurrent calls on an expired token", async () => {
  await using world = await signedIn();
  world.clock.advance(EXPIRED);
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => world.session.authFetch("/v1/whoami")),
  );
  for (const answer of answers) {
    assertEquals(answer.status, 200);
    await answer.body?.cancel();
  }
  assertEquals(world.refreshes(), 1);
  assertEquals(new Set(world.called.map((call) => call.authorization)).size, 1);
});

Deno.test("each refresh() asks the provider, even if the token is still valid", async () => {
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

Deno.test("a rejected refresh reports whether the login is older than 30 days", async () => {
  for (const [days, code] of [[1, "REFRESH_REJECTED"], [31, "REFRESH_WINDOW_OVER"]] as const) {
    await using world = await signedIn({ file: true });
    world.clock.advance(days * 86_400);
    world.sandbox.revokeRefreshTokens();
    const error = await rejection(world.session.refresh());
    assertInstanceOf(error, SessionExpiredError);
    assertEquals(error.code, code);
    assertMatch(error.message, /run login\({ force: true }\) \(help: platform-auth explain \w+\)$/);
    assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, code);
    assertEquals(world.refreshes(), 1, "a dead refresh token is not tried twice");
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
  // Its own save is no news: why there is no more is still known when the token has ended.
  world.clock.advance(EXPIRED);
  assertEquals((await rejection(world.session.accessToken())).code, "REFRESH_REJECTED");
  assertEquals((await rejection(world.session.refresh())).code, "REFRESH_REJECTED");
});

Deno.test("a refresh token that was already used is distinguished from one that expired", async () => {
  const reused = () => errorAnswer("RefreshTokenReuseException", "Refresh token is spent");
  const expired = () => errorAnswer("NotAuthorizedException", "Refresh Token has expired");
  const cases = [
    [reused, 1, "REFRESH_REJECTED", /already used.*same \.env/],
    [reused, 40, "REFRESH_REJECTED", /already used.*same \.env/],
    [expired, 1, "REFRESH_REJECTED", /rejected the refresh token .*has expired/],
    [expired, 40, "REFRESH_WINDOW_OVER", /the login is 40 days old/],
  ] as const;
  for (const [answer, days, code, told] of cases) {
    await using world = await signedIn({ file: true });
    world.clock.advance(days * 86_400);
    const next = world.another({ fetch: () => Promise.resolve(answer()) });
    const error = await rejection(next.refresh());
    assertEquals(error.code, code);
    assertMatch(error.message, told);
    assertMatch(error.message, /run login\(\{ force: true \}\)/);
    assertEquals(linesOf(world.envFile), {});
  }
});
