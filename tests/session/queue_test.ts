/** Refreshes, logins and logouts of one session: one at a time, in the order of the calls. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session } from "../../mod.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { until } from "../support/until.ts";
import { AccountSession } from "../../src/session.ts";

const EXPIRED = 3_000;
/** Time for which a login or a logout waits for a refresh, in milliseconds. */
const PATIENCE_MS = 3_000;

/** Resolves when this many logins and logouts wait for the refresh in progress. */
const waiting = ({ asked }: HeldTimeouts, count = 1) =>
  until(() => asked.filter((ms) => ms === PATIENCE_MS).length >= count);

/** A session with an expired token, and a refresh whose response waits for `release()`. */
async function refreshing(world: Portless) {
  await world.session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  return { call, release: held.release };
}

/** Calls `event` during a save, just before the new file is written to the disk. */
async function duringSave(save: () => Promise<unknown>, event: () => unknown): Promise<void> {
  const { sync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.sync = async function () {
    Deno.FsFile.prototype.sync = sync;
    await event();
    await sync.call(this);
  };
  try {
    await save();
  } finally {
    Deno.FsFile.prototype.sync = sync;
  }
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
  for (const file of [true, false]) {
    await using world = await signedIn({ file });
    world.clock.advance(EXPIRED);
    const call = world.session.accessToken();
    const out = world.session.logout();
    assertEquals(typeof await call, "string");
    assertEquals([(await out).ended, world.refreshes()], ["provider", 1]);
  }
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

Deno.test("a login replaces tokens that another program saves at the same moment", async () => {
  await using world = await signedIn({ file: true });
  await duringSave(
    () => world.session.login({ portalToken: "bearer my-own-token-of-this-login" }),
    () => Deno.writeTextFileSync(world.envFile, "ACCESS_TOKEN=theirs\nREFRESH_TOKEN=r\n"),
  );
  const tokens = [linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken()];
  assertEquals(tokens, ["my-own-token-of-this-login", "my-own-token-of-this-login"]);
});

Deno.test("configure() with another account discards a waiting login, but not an earlier logout", async () => {
  using timeouts = heldTimeouts();
  await using world = portless({ file: true });
  const options = { ...world.options, envFile: world.envFile };
  const session = new AccountSession(options, false);
  await session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = session.accessToken();
  await held.arrived;
  const out = session.logout();
  const login = session.login({ portalToken: "bearer a-token-of-the-old-account" });
  await waiting(timeouts, 2);
  session.configure({ ...options, clientId: "another-client" });
  held.release();
  await Promise.all([call, out, rejection(login)]);
  assertEquals(linesOf(world.envFile), {});
});

/** A session whose `.env` selects the account, and two ways to select another account. */
function editable(world: Portless) {
  const { envFile, options: { clientId, ...options } } = world;
  Deno.writeTextFileSync(envFile, `APP_CLIENT_ID=${clientId}\n`);
  const session = new AccountSession(options, false);
  return {
    session,
    configure: () => session.configure({ ...options, clientId: "another-client" }),
    edit: () => Deno.writeTextFileSync(envFile, "APP_CLIENT_ID=another-client\n"),
  };
}

/** Fails unless a login fails because the account changed, and its tokens are neither used nor saved. */
async function assertDropped(world: Portless, session: Session, login: Promise<unknown>) {
  const error = await rejection(login);
  assertEquals(error.code, "INVALID_SETTING");
  assertMatch(error.message, /changed to another account/);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, undefined);
  assertEquals(session.status().state, "none");
}

for (const [what, how] of [["configure()", "configure"], ["an edit", "edit"]] as const) {
  Deno.test(`a login fails and its tokens are dropped if ${what} selects another account meanwhile`, async () => {
    await using world = portless({ file: true });
    const { session, [how]: change } = editable(world);
    const held = world.hold();
    const login = session.login();
    await held.arrived;
    change();
    held.release();
    await assertDropped(world, session, login);
  });
}

Deno.test("a login fails and its tokens are dropped if configure() selects another account before its save", async () => {
  await using world = portless({ file: true });
  const { session, configure } = editable(world);
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = () => {
    Deno.FsFile.prototype.tryLockSync = tryLockSync;
    configure();
    return false;
  };
  await assertDropped(world, session, session.login());
});

Deno.test("a login that is being saved succeeds and stays in the file, even if configure() selects another account", async () => {
  await using world = portless({ file: true });
  const { session, configure } = editable(world);
  const login = session.login();
  await duringSave(() => login, configure);
  assertEquals([(await login).state, session.status().state], ["valid", "none"]);
  assert(linesOf(world.envFile).ACCESS_TOKEN);
});

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

for (const isCalledFirst of [true, false]) {
  const when = isCalledFirst ? "while the second waits" : "before the second is called";
  Deno.test(`a second logout() ends the session if the first is aborted ${when}`, async () => {
    await using world = portless({ file: true });
    const { call, release } = await refreshing(world);
    const abort = new AbortController();
    const gone = rejection(world.session.logout({ signal: abort.signal }));
    if (!isCalledFirst) abort.abort(new Error("not now"));
    const stays = world.session.logout();
    if (isCalledFirst) abort.abort(new Error("not now"));
    assertEquals((await gone).message, "not now");
    release();
    await call;
    assertEquals([(await stays).ended, linesOf(world.envFile)], ["provider", {}]);
  });
}

Deno.test("a login that was called between two waiting logouts is discarded", async () => {
  using timeouts = heldTimeouts();
  await using world = portless({ file: true });
  const { call, release } = await refreshing(world);
  const first = world.session.logout();
  const login = world.session.login({ portalToken: "bearer a-token-between-two-logouts" });
  await waiting(timeouts, 2);
  const second = world.session.logout();
  release();
  await Promise.all([call, first, second, login]);
  assertEquals([world.session.status().state, linesOf(world.envFile)], ["none", {}]);
});
