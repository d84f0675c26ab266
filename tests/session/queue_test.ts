/** Refreshes, logins and logouts of one session: one at a time, in the order of the calls. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session, SessionOptions } from "../../mod.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { until } from "../support/until.ts";
import { AccountSession } from "../../src/session.ts";
import { tokenAnswer, TOKENS } from "../support/answers.ts";

const EXPIRED = 3_000;
/** Time for which a login or a logout waits for a refresh, in milliseconds. */
const PATIENCE_MS = 3_000;
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** Waits until only an event of the test can make anything more happen. */
async function turns(): Promise<void> {
  for (let each = 0; each < 20; each++) await turn();
}

/** A session with an expired token, and a refresh whose response waits for `release()`. */
async function refreshing(world: Portless) {
  await world.session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  return { call, release: held.release };
}

/** Like `refreshing()`, for a refresh that fails once the test ends the wait for it. */
async function hanging(world: Portless, timeouts: HeldTimeouts) {
  const { call, release } = await refreshing(world);
  const refresh = rejection(call);
  return { refresh, release, endWait: () => endWait(timeouts) };
}

/** Lets the time pass for which a login or a logout waits, once it waits. */
async function endWait(timeouts: HeldTimeouts): Promise<void> {
  await until(() => timeouts.asked.includes(PATIENCE_MS));
  timeouts.pass(PATIENCE_MS);
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
  const { refresh, release, endWait } = await hanging(world, timeouts);
  const out = world.session.logout();
  await turns();
  assert(linesOf(world.envFile).ACCESS_TOKEN, "the tokens are kept while the refresh may succeed");
  await endWait();
  assertEquals((await refresh).code, "NO_SESSION");
  await until(() => linesOf(world.envFile).ACCESS_TOKEN === undefined);
  assertEquals(world.session.status().state, "none");
  release();
  assertEquals((await out).ended, "provider");
});

Deno.test("a refresh that takes longer than three seconds is ended by login() with TIMEOUT", async () => {
  using timeouts = heldTimeouts();
  await using world = portless({ file: true });
  const { refresh, endWait } = await hanging(world, timeouts);
  const login = world.session.login({ portalToken: "bearer the-token-of-the-later-login" });
  await turns();
  assertEquals(world.session.status().source, "password");
  await endWait();
  assertEquals((await refresh).code, "TIMEOUT");
  assertEquals((await login).source, "portal");
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, "the-token-of-the-later-login");
});

Deno.test("a refresh that login() or logout() ends causes no notice", async () => {
  for (const end of ["login", "logout"] as const) {
    for (const isEarly of [true, false]) {
      using timeouts = heldTimeouts();
      const api = () => new Response(null, { status: isEarly ? 200 : 401 });
      await using world = portless({ api });
      const { session, clock } = world;
      await session.login();
      clock.advance(isEarly ? 1_795 : 1);
      const held = world.hold();
      const call = session.authFetch("/v1/whoami").catch(() => {});
      await held.arrived;
      const ended = end === "login"
        ? session.login({ portalToken: "bearer the-token-of-the-later-login" })
        : session.logout({ revoke: false });
      await endWait(timeouts);
      await Promise.all([ended, call]);
      const codes = session.status().notices.map(({ code }) => code);
      assertEquals(codes.filter((code) => code.includes("REFRESH")), [], `${end}, ${isEarly}`);
      held.release();
    }
  }
});

Deno.test("refresh() during a login returns the tokens of that login", async () => {
  let count = 0;
  await using world = await signedIn({
    file: true,
    provider: () => tokenAnswer({ ...TOKENS, AccessToken: `token-${++count}` }),
  });
  world.clock.advance(1);
  let refresh: Promise<unknown> | undefined;
  await duringSave(() => world.session.login({ force: true }), async () => {
    refresh = world.session.refresh();
    await turns();
  });
  await refresh;
  assertEquals([world.logins(), world.refreshes()], [2, 0]);
});

Deno.test("a login that is aborted just after it got the lock changes nothing", async () => {
  await using world = await signedIn({ file: true });
  const before = [await world.session.accessToken(), Deno.readTextFileSync(world.envFile)];
  const abort = new AbortController();
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = function (this: Deno.FsFile, isExclusive?: boolean) {
    abort.abort(new Error("not now"));
    return tryLockSync.call(this, isExclusive);
  };
  const { signal } = abort;
  try {
    const login = world.session.login({ portalToken: "bearer the-token-of-another-login", signal });
    assertEquals((await rejection(login)).message, "not now");
    await turns();
  } finally {
    Deno.FsFile.prototype.tryLockSync = tryLockSync;
  }
  assertEquals([await world.session.accessToken(), Deno.readTextFileSync(world.envFile)], before);
});

const SAVES: [string, (world: Portless) => Promise<unknown>, string][] = [
  [
    "a login replaces",
    (world) => world.session.login({ portalToken: "bearer my-own-token-of-this-login" }),
    "my-own-token-of-this-login",
  ],
  ["a refresh adopts", (world) => world.session.refresh(), "theirs"],
];
for (const [what, save, expected] of SAVES) {
  Deno.test(`${what} tokens that another program saves at the same moment`, async () => {
    await using world = await signedIn({ file: true });
    await duringSave(
      () => save(world),
      () => Deno.writeTextFileSync(world.envFile, "ACCESS_TOKEN=theirs\nREFRESH_TOKEN=r\n"),
    );
    const { ACCESS_TOKEN } = linesOf(world.envFile);
    assertEquals([ACCESS_TOKEN, await world.session.accessToken()], [expected, expected]);
  });
}

Deno.test("configure() with another account discards a waiting login, but not an earlier logout", async () => {
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
  await turns();
  session.configure({ ...options, clientId: "another-client" });
  held.release();
  await Promise.all([call, out, rejection(login)]);
  assertEquals(linesOf(world.envFile), {});
});

type Change = (session: AccountSession, options: SessionOptions) => void;
const configureAnother: Change = (session, options) =>
  session.configure({ ...options, clientId: "another-client" });
const CHANGES: Record<string, Change> = {
  "configure()": configureAnother,
  "an edit of the .env": (_, { envFile }) =>
    Deno.writeTextFileSync(String(envFile), "APP_CLIENT_ID=another-client\n"),
};

/** A session on a `.env` with a setting that selects the account. */
function editable(world: Portless) {
  const { clientId, ...others } = world.options;
  const options = { ...others, envFile: world.envFile };
  Deno.writeTextFileSync(world.envFile, `APP_CLIENT_ID=${clientId}\n`);
  return { session: new AccountSession(options, false), options };
}

/** Fails unless a login fails because the account changed, and its tokens are neither used nor saved. */
async function assertDropped(world: Portless, session: Session, login: Promise<unknown>) {
  const error = await rejection(login);
  assertEquals(error.code, "INVALID_SETTING");
  assertMatch(error.message, /changed to another account/);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, undefined);
  assertEquals(session.status().state, "none");
}

for (const [what, change] of Object.entries(CHANGES)) {
  Deno.test(`a login fails and its tokens are dropped if ${what} selects another account meanwhile`, async () => {
    await using world = portless({ file: true });
    const { session, options } = editable(world);
    const held = world.hold();
    const login = session.login();
    await held.arrived;
    change(session, options);
    held.release();
    await assertDropped(world, session, login);
  });
}

Deno.test("a login fails and its tokens are dropped if configure() selects another account before its save", async () => {
  await using world = portless({ file: true });
  const { session, options } = editable(world);
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = () => {
    Deno.FsFile.prototype.tryLockSync = tryLockSync;
    configureAnother(session, options);
    return false;
  };
  await assertDropped(world, session, session.login());
});

Deno.test("a login that is being saved succeeds and stays in the file, even if configure() selects another account", async () => {
  await using world = portless({ file: true });
  const { session, options } = editable(world);
  const login = session.login();
  await duringSave(() => login, () => configureAnother(session, options));
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
  await using world = portless({ file: true });
  const { call, release } = await refreshing(world);
  const first = world.session.logout();
  const login = world.session.login({ portalToken: "bearer a-token-between-two-logouts" });
  await turns();
  const second = world.session.logout();
  release();
  await Promise.all([call, first, second, login]);
  assertEquals([world.session.status().state, linesOf(world.envFile)], ["none", {}]);
});
