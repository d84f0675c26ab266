/**
 * If refresh tokens rotate, learned facts are kept, and a response is on disk before it is used.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { linesOf, portless, rejection } from "../../support/portless.ts";
import { errorAnswer } from "../../support/answers.ts";

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
    await using world = portless({ file: true });
    await world.session.login();
    world.clock.advance(days * 86_400);
    const next = world.another({ fetch: () => Promise.resolve(answer()) });
    const error = await rejection(next.refresh());
    assertEquals(error.code, code);
    assertMatch(error.message, told);
    assertMatch(error.message, /run login\(\{ force: true \}\)/);
    assertEquals(linesOf(world.envFile), {});
  }
});
