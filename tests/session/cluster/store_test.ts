/** Sessions that share `AUTH_STORE`. */
import { assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../../mod.ts";
import { settingsStore } from "../../../src/redis/settings_store.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { AccountSession } from "../../../src/session.ts";
import { resolveSettings } from "../../../src/settings/settings.ts";
import { jwt } from "../../support/answers.ts";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";
import { Table } from "../../support/table.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServed } from "../processes/one_refresh.ts";
import { call, type Cluster, clusterTest } from "./in_cluster.ts";

clusterTest(
  "a store keeps one session for each account",
  async ({ server, session, store: { storeKey = "" }, world }) => {
    const grace = { username: "grace", password: "Another-Password-1" };
    world.sandbox.addUser(grace);
    const one = new AccountSession({ ...world.options, store: server.url, storeKey }, false);
    assertEquals((await one.login()).username, "student");
    one.configure({ ...world.options, store: server.url, storeKey, ...grace });
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    assertEquals((await one.login()).username, "grace");
    assertEquals((await session().login()).source, "store");
  },
);

/** A session whose settings contain no user name. `hash` selects the account in the store. */
function unnamed({ world, store }: Cluster, hash: string, more: SessionOptions = {}) {
  const { username: _, password: __, ...options } = world.options;
  return createSession({ ...options, ...store, store: `${store.store}${hash}`, ...more });
}

const OTHER_ACCOUNT = /keeps the session of \w+, and this login is for another account; /;

clusterTest("login() refuses to replace another user's session in the store", async (cluster) => {
  const { world } = cluster;
  const grace = { username: "grace", password: "Another-Password-1" };
  world.sandbox.addUser(grace);
  const { username = "", password = "" } = world.options;
  await unnamed(cluster, `#${username}`).login({ username, password });
  const errors = await Promise.all([
    rejection(unnamed(cluster, `#${username}`).login(grace)),
    rejection(unnamed(cluster, "#somebody", grace).login()),
  ]);
  for (const error of errors) {
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, OTHER_ACCOUNT);
    assertMatch(error.message, /AUTH_STORE end with #grace/);
  }
  assertEquals(world.logins(), 1, "nothing was sent");
  const worker = unnamed(cluster, `#${username}`);
  await worker.accessToken();
  assertEquals([worker.status().username, worker.status().canRefresh], [username, true]);
});

clusterTest(
  "login() refuses a portal string of another account than the store's session",
  async ({ session, world }) => {
    await session().login();
    const one = session();
    const portalToken = `bearer ${jwt({ sub: "ada", exp: 4e9 })}`;
    const error = await rejection(one.login({ portalToken }));
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, OTHER_ACCOUNT);
    assertEquals([one.status().canRefresh, await one.accessToken()], [
      true,
      await session().accessToken(),
    ]);
    // A portal string of the same account is accepted. After a logout, so is one of any account.
    const own = await world.sandbox.portalToken();
    assertEquals((await one.login({ portalToken: own })).source, "portal");
    await one.logout();
    assertEquals((await one.login({ portalToken })).username, "ada");
  },
);

clusterTest(
  "sessions continue while their store is down, and after it has lost its data",
  async ({ server, session, world }) => {
    let limitMs = 60_000;
    const timeout = () => AbortSignal.timeout(limitMs);
    const [one, other] = [session({ timeout }), session({ timeout })];
    await one.login();
    await other.login();
    await server.kill();
    limitMs = 300;
    // The token is still valid, although a refresh is due.
    world.clock.advance(1_700);
    assertEquals([await call(one), world.refreshes()], [200, 0]);
    assertMatch(one.status().warnings.join(), /store at 127.0.0.1:\d+: the connection was refused/);
    world.clock.advance(1_000);
    assertEquals((await rejection(call(other))).code, "STORE_UNREACHABLE");
    await server.start();
    limitMs = 60_000;
    assertEquals(await Promise.all([call(one), call(other)]), [200, 200]);
    assertEquals([world.logins(), world.refreshes()], [1, 1]);
    const codes = one.status().notices.map(({ code }) => code);
    assertEquals(codes.filter((code) => /STORE|SAVED/.test(code)), []);
    assertEquals((await session().login()).source, "store");
  },
  { isKept: false },
);

const PROCESSES = rounds(4, 20);
const CALLS = 10;

testNeeding(
  NO_REDIS,
  `${PROCESSES} processes send one refresh for an expired token in their store`,
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder);
      await using world = await startSandbox({ rotateRefreshTokens: true, graceSeconds: 0 });
      const options = { ...world.settings, envFile: false, store: server.url } as const;
      await createSession(options).login();
      const { store } = await settingsStore(resolveSettings(options, false));
      const signal = AbortSignal.timeout(60_000);
      const lock = await store.lock(signal);
      const ACCESS_TOKEN_EXPIRES_AT = new Date(Date.now() - 60_000).toISOString();
      await lock.write({ ...await store.read(signal), ACCESS_TOKEN_EXPIRES_AT }, signal);
      await lock[Symbol.asyncDispose]();
      const before = world.requests.length;
      const clients = Array.from({ length: PROCESSES }, () => startClient("call", options, CALLS));
      await assertServed(clients, CALLS);
      assertEquals(world.requests.slice(before).map(({ authFlow }) => authFlow), [
        "REFRESH_TOKEN_AUTH",
      ]);
      // A later process can refresh with the saved refresh token.
      assertEquals((await createSession(options).refresh()).state, "valid");
    }),
);

Deno.test("20 machines with a revoked session send one refresh", async () => {
  const table = new Table();
  await using world = portless({ session: { store: table } });
  await world.session.login();
  const sessions = Array.from({ length: 20 }, () => world.another());
  for (const each of sessions) await each.accessToken();
  world.sandbox.revokeRefreshTokens();
  world.clock.advance(3_000);
  const errors = await Promise.all(sessions.map((each) => rejection(each.accessToken())));
  const codes = errors.map(({ code }) => code).sort();
  assertEquals(codes, [...Array(19).fill("NO_SESSION"), "REFRESH_REJECTED"]);
  assertEquals(world.refreshes(), 1);
});
