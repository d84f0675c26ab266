/** Several sessions on one store: what was written last counts, whatever the times in the tokens. */
import { assert, assertEquals } from "@std/assert";
import type { Session } from "../../mod.ts";
import {
  type Held,
  linesOf,
  type Portless,
  portless,
  type PortlessOptions,
  rejection,
} from "../support/portless.ts";
import { errorAnswer, tokenAnswer } from "../support/answers.ts";

const EXPIRED = 3_000;
/** Who waits for the lock beside the file waits in real time. */
const sleep = () => new Promise<void>((done) => setTimeout(done, 0));

function shared(given: PortlessOptions = {}): Portless {
  return portless({ file: true, ...given, session: { sleep, ...given.session } });
}

function lockOf(world: Portless): Deno.FsFile {
  const file = Deno.openSync(`${Deno.realPathSync(world.envFile)}.lock`, {
    write: true,
    create: true,
  });
  file.lockSync(true);
  return file;
}

/** Two sessions with an expired token; the response to the refresh of the first is held back. */
async function slowRefresh(
  world: Portless,
): Promise<{ other: Session; held: Held; first: Promise<string> }> {
  await world.session.login();
  const other = world.another();
  other.status();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const first = world.session.accessToken();
  await held.arrived;
  return { other, held, first };
}

/** A write by another program, which does not use the lock. */
function writeTokens(world: Portless, access: string, refresh = ""): void {
  const lines = [`ACCESS_TOKEN=${access}`, ...(refresh ? [`REFRESH_TOKEN=${refresh}`] : [])];
  Deno.writeTextFileSync(world.envFile, `${lines.join("\n")}\n`);
}

Deno.test("a session's own save is not taken for another process's: two refreshes in a row have the source refresh", async () => {
  await using world = shared();
  await world.session.login();
  for (let round = 0; round < 20; round++) {
    let saving = true;
    const first = world.session.refresh().finally(() => saving = false);
    const joining: Promise<unknown>[] = [];
    // Each of these looks at the file, also in the middle of the save.
    while (saving) {
      joining.push(world.session.refresh());
      await sleep();
    }
    assertEquals((await first).source, "refresh");
    await Promise.all(joining);
    assertEquals(world.session.status().source, "refresh");
  }
});

Deno.test("a refresh token that another process rotated is used after a refusal of the old one", async () => {
  await using world = shared({
    provider: ({ flow, parameters }) =>
      flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer({ AccessToken: "a1", RefreshToken: "r1", ExpiresIn: 1_800 })
        : parameters.REFRESH_TOKEN === "r1"
        ? errorAnswer("NotAuthorizedException", "Refresh Token has been revoked")
        : tokenAnswer({ AccessToken: "a3", RefreshToken: "r3", ExpiresIn: 1_800 }),
  });
  await world.session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  // The other process refreshed a while ago, so its token has expired, too.
  writeTokens(world, "a2", "r2\nACCESS_TOKEN_EXPIRES_AT=2020-01-01T00:00:00Z");
  held.release();
  assertEquals([await call, linesOf(world.envFile).REFRESH_TOKEN], ["a3", "r3"]);
});

Deno.test("a login aborted while it waits for the lock changes neither session nor file", async () => {
  await using world = shared();
  await world.session.login();
  const before = [await world.session.accessToken(), Deno.readTextFileSync(world.envFile)];
  using _lock = lockOf(world);
  const controller = new AbortController();
  const portalToken = "bearer another-token";
  const login = rejection(world.session.login({ portalToken, signal: controller.signal }));
  await sleep();
  controller.abort(new Error("not now"));
  assertEquals((await login).message, "not now");
  assertEquals([await world.session.accessToken(), Deno.readTextFileSync(world.envFile)], before);
  assertEquals(world.session.status().source, "password");
});

Deno.test("the file changes while a login waits for the lock: the login is written last", async () => {
  await using world = shared();
  await world.session.login();
  const lock = lockOf(world);
  const login = world.session.login({ portalToken: "bearer the-later-login" });
  await sleep();
  writeTokens(world, "written-meanwhile", "with-its-refresh-token");
  lock.close();
  await login;
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, "the-later-login");
  assertEquals(linesOf(world.envFile).REFRESH_TOKEN, undefined);
  assertEquals(await world.session.accessToken({ minValidSeconds: 10_000 }), "the-later-login");
});

Deno.test("of two simultaneous logouts, neither resolves while tokens are in the file", async () => {
  for (let round = 0; round < 10; round++) {
    await using world = shared();
    await world.session.login();
    const seen = [world.session.logout(), world.session.logout()].map((out) =>
      out.then(() => linesOf(world.envFile))
    );
    assertEquals(await Promise.all(seen), [{}, {}]);
  }
});

Deno.test("without locks a logout during another session's save ends both", async () => {
  for (let round = 0; round < 10; round++) {
    await using world = shared();
    await world.session.login();
    // Where a folder has the name of the lock file nobody can hold a lock.
    Deno.removeSync(`${world.envFile}.lock`);
    Deno.mkdirSync(`${world.envFile}.lock`);
    const other = world.another();
    other.status();
    const held = world.hold();
    const refresh = Promise.allSettled([world.session.refresh()]);
    await held.arrived;
    held.release();
    // Somewhere in the middle of the save.
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    await other.logout();
    await refresh;
    await Promise.allSettled([world.session.refresh()]);
    const { ACCESS_TOKEN } = linesOf(world.envFile);
    // Either the logout came last, or the refresh began its save after it and saw that.
    assertEquals(ACCESS_TOKEN, undefined, `round ${round}`);
  }
});

Deno.test("a save that fails does not bring the file's old tokens back", async () => {
  await using world = shared();
  const folder = world.envFile.replace(/[\\/]\.env$/, "");
  await world.session.login();
  const other = world.another();
  await other.refresh();
  // A folder with the name of the temporary file: nothing can be written beside the file.
  Deno.mkdirSync(`${folder}/.env.tmp/in-the-way`, { recursive: true });
  const status = await world.session.login({ portalToken: "bearer kept-in-memory" });
  assert(status.warnings.some((it) => it.includes("kept in memory only")), status.warnings.join());
  assertEquals(await world.session.accessToken({ minValidSeconds: 10_000 }), "kept-in-memory");
  assertEquals(world.session.status().source, "portal");
});

Deno.test("a login during a rotating refresh of the same session loses no session", async () => {
  for (const way of ["portal", "password"]) {
    for (let round = 0; round < 10; round++) {
      await using world = shared({ sandbox: { rotateRefreshTokens: true, graceSeconds: 0 } });
      const { other, held, first } = await slowRefresh(world);
      const portalToken = await world.sandbox.portalToken();
      const second = other.authFetch("/v1/whoami");
      // By then the other one waits for the lock.
      for (let turn = 0; turn < 10; turn++) await sleep();
      const login = world.session.login(way === "portal" ? { portalToken } : { force: true });
      for (let turn = 0; turn < round; turn++) await sleep();
      held.release();
      await login;
      await first;
      assertEquals((await second).status, 200, `${way}, round ${round}`);
      assertEquals(world.refreshes(), 1, `${way}, round ${round}: a request with a spent token`);
      const kept = linesOf(world.envFile).ACCESS_TOKEN;
      assertEquals(await world.session.accessToken(), kept);
      assertEquals((await world.another().authFetch("/v1/whoami")).status, 200);
    }
  }
});

Deno.test("a refusal that is met without the lock leaves the store to the holder of the lock", async () => {
  const late = Promise.withResolvers<void>();
  await using world = shared({
    provider: async ({ flow }, count) => {
      if (flow === "USER_PASSWORD_AUTH") {
        return tokenAnswer({ AccessToken: "a1", RefreshToken: "r1", ExpiresIn: 1_800 });
      }
      if (count > 2) return errorAnswer("NotAuthorizedException", "Refresh Token has been revoked");
      await late.promise;
      return tokenAnswer({ AccessToken: "a2", RefreshToken: "r2", ExpiresIn: 1_800 });
    },
  });
  await world.session.login();
  const other = world.another();
  other.status();
  world.clock.advance(EXPIRED);
  const slow = world.session.accessToken();
  while (world.sent.length < 2) await sleep();
  const impatient = rejection(other.accessToken());
  for (let turn = 0; turn < 10; turn++) await sleep();
  // The holder is stopped for longer than anybody waits for it.
  world.clock.advance(60);
  assertEquals((await impatient).code, "REFRESH_REJECTED");
  late.resolve();
  assertEquals(await slow, "a2");
  assertEquals(linesOf(world.envFile).REFRESH_TOKEN, "r2");
  assertEquals(await other.accessToken(), "a2");
});

Deno.test("without locks, a save by another program is kept while a session gives up", async () => {
  for (let round = 0; round < 16; round++) {
    await using world = shared();
    await world.session.login();
    Deno.removeSync(`${world.envFile}.lock`);
    Deno.mkdirSync(`${world.envFile}.lock`);
    world.clock.advance(EXPIRED);
    world.sandbox.revokeRefreshTokens();
    const held = world.hold();
    const refresh = Promise.allSettled([world.session.accessToken()]);
    await held.arrived;
    held.release();
    // Somewhere in the middle of giving up.
    for (let turn = 0; turn < round; turn++) await (turn < 8 ? Promise.resolve() : sleep());
    writeTokens(world, "saved-meanwhile");
    await refresh;
    assertEquals(linesOf(world.envFile).ACCESS_TOKEN, "saved-meanwhile", `round ${round}`);
  }
});

Deno.test("if the API rejects the other process's token, too, the call refreshes", async () => {
  await using world = shared();
  await world.session.login();
  await world.session.authFetch("/v1/whoami");
  const other = world.another();
  await other.login({ force: true });
  world.sandbox.expireAccessTokens();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  assertEquals(world.refreshes(), 1);
});

Deno.test("tokens that replace a refused refresh are refreshed if the API rejects them, too", async () => {
  await using world = shared();
  await world.session.login();
  world.sandbox.revokeRefreshTokens();
  const envFile = `${world.envFile}.other`;
  await world.another({ envFile }).login();
  world.sandbox.expireAccessTokens();
  world.clock.advance(2);
  const held = world.hold();
  const call = world.session.authFetch("/v1/whoami");
  await held.arrived;
  Deno.copyFileSync(envFile, world.envFile);
  held.release();
  assertEquals([(await call).status, world.refreshes()], [200, 2]);
});

Deno.test("a call that receives a 401 is sent at most three times, whatever others save", async () => {
  await using world = shared({
    api: (_, count) => {
      writeTokens(world, `saved-meanwhile-${count}`, "with-its-refresh-token");
      return new Response(null, { status: 401 });
    },
  });
  await world.session.login();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals(world.called.slice(1).map(({ authorization }) => authorization), [
    "bearer saved-meanwhile-1",
    "bearer saved-meanwhile-2",
  ]);
});

const saves: [string, (world: Portless) => Promise<unknown>][] = [
  ["another", (world) => world.session.login({ portalToken: "bearer the-first" })],
  ["a refresh", (world) => world.session.refresh()],
];
for (const [what, save] of saves) {
  Deno.test(`without locks, a login that comes while ${what} is saved is in the file at the end`, async () => {
    await using world = shared();
    await world.session.login();
    Deno.removeSync(`${world.envFile}.lock`);
    Deno.mkdirSync(`${world.envFile}.lock`);
    const { sync } = Deno.FsFile.prototype;
    let last: Promise<unknown> | undefined;
    // The new file of the first is on its way to the disk.
    Deno.FsFile.prototype.sync = async function (this: Deno.FsFile) {
      Deno.FsFile.prototype.sync = sync;
      last = world.session.login({ portalToken: "bearer the-last" });
      for (let turn = 0; turn < 50; turn++) await sleep();
      await sync.call(this);
    };
    try {
      await save(world);
    } finally {
      Deno.FsFile.prototype.sync = sync;
    }
    await last;
    assertEquals(linesOf(world.envFile).ACCESS_TOKEN, "the-last");
    assertEquals(await world.session.accessToken(), "the-last");
  });
}
