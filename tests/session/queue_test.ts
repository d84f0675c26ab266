/** Refreshes, logins and logouts of one session: one at a time, in the order of the calls. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { until } from "../support/until.ts";
import { AccountSession } from "../../src/session.ts";

const EXPIRED = 3_000;
/** Time for which a login or a logout waits for a refresh, in milliseconds. */
const PATIENCE_MS = 3_000;

/** Resolves when a login or a logout waits for the refresh in progress. */
const waiting = ({ asked }: HeldTimeouts) => until(() => asked.includes(PATIENCE_MS));

/** A session with an expired token, and a refresh whose response waits for `release()`. */
async function refreshing(world: Portless) {
  await world.session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  return { call, release: held.release };
}

Deno.test("logout() revokes the refresh token that a refresh in progress obtains", async () => {
  await using world = portless({ sandbox: { rotateRefreshTokens: true }, file: true });
  const { call, release } = await refreshing(world);
  const before = linesOf(world.envFile).REFRESH_TOKEN;
  const out = world.session.logout();
  release();
  await call;
  assertEquals([(await out).ended, world.session.status().state], ["provider", "none"]);
  const { flow, body } = world.sent.at(-1) ?? {};
  assertEquals([flow, body?.Token === before], ["RevokeToken", false]);
});

Deno.test("a call gets its token even if logout() is called right after it", async () => {
  await using world = await signedIn({ file: true });
  world.clock.advance(EXPIRED);
  const call = world.session.accessToken();
  const out = world.session.logout();
  assertEquals(typeof await call, "string");
  assertEquals([(await out).ended, world.refreshes()], ["provider", 1]);
});

Deno.test("a refresh that takes longer than three seconds is ended by logout() with NO_SESSION", async () => {
  using timeouts = heldTimeouts();
  await using world = portless({ file: true });
  const { call, release } = await refreshing(world);
  const refresh = rejection(call);
  const out = world.session.logout();
  await waiting(timeouts);
  assert(linesOf(world.envFile).ACCESS_TOKEN, "the tokens are kept while the refresh may succeed");
  timeouts.pass(PATIENCE_MS);
  assertEquals((await refresh).code, "NO_SESSION");
  await until(() => linesOf(world.envFile).ACCESS_TOKEN === undefined);
  assertEquals(world.session.status().state, "none");
  release();
  assertEquals((await out).ended, "provider");
});

Deno.test("a refresh that takes longer than three seconds is ended by login() with TIMEOUT", async () => {
  using timeouts = heldTimeouts();
  await using world = portless({ file: true });
  const refresh = rejection((await refreshing(world)).call);
  const login = world.session.login({ portalToken: "bearer the-token-of-the-later-login" });
  await waiting(timeouts);
  assertEquals(world.session.status().source, "password");
  timeouts.pass(PATIENCE_MS);
  assertEquals([(await refresh).code, (await login).source], ["TIMEOUT", "portal"]);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, "the-token-of-the-later-login");
});

for (const how of ["configure()", "an edit of the .env"]) {
  Deno.test(`a login fails and its tokens are dropped if ${how} selects another account meanwhile`, async () => {
    await using world = portless({ file: true });
    const { envFile, options: { clientId, ...options } } = world;
    Deno.writeTextFileSync(envFile, `APP_CLIENT_ID=${clientId}\n`);
    const session = new AccountSession(options, false);
    const held = world.hold();
    const login = session.login();
    await held.arrived;
    if (how === "configure()") session.configure({ ...options, clientId: "another-client" });
    else Deno.writeTextFileSync(envFile, "APP_CLIENT_ID=another-client\n");
    held.release();
    const { code, message } = await rejection(login);
    assertEquals(code, "INVALID_SETTING");
    assertMatch(message, /changed to another account/);
    assertEquals(linesOf(envFile).ACCESS_TOKEN, undefined);
    assertEquals(session.status().state, "none");
  });
}

Deno.test("simultaneous calls of logout() send one request and all return its result", async () => {
  await using world = await signedIn();
  const results = await Promise.all([
    world.session.logout(),
    world.session.logout({ everywhere: true }),
    world.session.logout(),
  ]);
  assertEquals(results.map(({ ended }) => ended), ["everywhere", "everywhere", "everywhere"]);
  assertEquals(world.sent.map(({ flow }) => flow), ["USER_PASSWORD_AUTH", "GlobalSignOut"]);
});

Deno.test("a second logout() ends the session even if the first is aborted", async () => {
  await using world = portless({ file: true });
  const { call, release } = await refreshing(world);
  const abort = new AbortController();
  const gone = rejection(world.session.logout({ signal: abort.signal }));
  const stays = world.session.logout();
  abort.abort(new Error("not now"));
  assertEquals((await gone).message, "not now");
  release();
  await call;
  assertEquals([(await stays).ended, linesOf(world.envFile)], ["provider", {}]);
});
