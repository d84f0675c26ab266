import { assertEquals } from "@std/assert";
import { type Portless, portless, rejection } from "../support/portless.ts";

const EXPIRED = 3_000;

/** A session with an expired token, whose refresh gets its response when the test lets it. */
async function refreshing<T>(world: Portless, call: () => T, failures = 0) {
  await world.session.login();
  if (failures > 0) world.sandbox.failures.push({ at: "token", status: 503, times: failures });
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const made = call();
  await held.arrived;
  return { held, call: made };
}

const LOGIN_ANSWER = JSON.stringify({
  AuthenticationResult: { AccessToken: "opaque", RefreshToken: "opaque-too", ExpiresIn: 1800 },
});

for (
  const [failures, what] of [[0, "still renews the session"], [1, "sends nothing more"]] as const
) {
  Deno.test(`if all callers of a refresh cancel, it ${what}`, async () => {
    await using world = portless();
    const controller = new AbortController();
    const { signal } = controller;
    const calls = () => [
      rejection(world.session.accessToken({ signal })),
      rejection(world.session.authFetch("/v1/whoami", { signal })),
    ];
    const { held, call } = await refreshing(world, calls, failures);
    controller.abort();
    await Promise.all(call);
    held.release();
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done, 0));
    assertEquals(world.refreshes(), 1);
    await world.session.accessToken();
    assertEquals(world.refreshes(), 1 + failures);
  });
}

Deno.test("a signal that is aborted already sends nothing", async () => {
  await using world = portless({ session: { clientSecret: "", refreshSecretHash: "omit" } });
  world.sandbox.failures.push({ at: "token", body: LOGIN_ANSWER, times: 1 });
  await world.session.login();
  const signal = AbortSignal.abort(new Error("never mind"));
  const { refresh, login, accessToken, authFetch, logout } = world.session;
  for (
    const call of [
      refresh({ signal }),
      login({ force: true, signal }),
      accessToken({ minValidSeconds: 3_000, signal }),
      authFetch("/v1/whoami", { signal }),
      logout({ signal }),
    ]
  ) assertEquals((await rejection(call)).message, "never mind");
  // Any request that would still be started has been started by now.
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([world.sent.length, world.called.length], [1, 0]);
  assertEquals(world.session.status().state, "valid");
});
