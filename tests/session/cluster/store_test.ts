/** Sessions that share `AUTH_STORE`. */
import { assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { sealed } from "../../../src/redis/mod.ts";
import { createSandbox } from "../../../src/sandbox/mod.ts";
import { jwt } from "../../support/answers.ts";
import { inFolder, MOD_URL, runScript } from "../../support/child_deno.ts";
import { serveLocal } from "../../support/local_server.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { Table } from "../../support/table.ts";
import { clusterTest } from "./in_cluster.ts";

clusterTest(
  "login() refuses to replace the session of another account in the store",
  async ({ server, session, world }) => {
    const grace = { username: "grace", password: "Another-Password-1" };
    world.sandbox.addUser(grace);
    const one = session({ store: `${server.url}#student` });
    await one.login();
    const token = await one.accessToken();
    const portalToken = `bearer ${jwt({ sub: "ada", exp: 4e9 })}`;
    const logins: [login: () => Promise<unknown>, account: string][] = [
      [() => one.login(grace), "grace"],
      [() => session({ store: `${server.url}#somebody`, ...grace }).login(), "grace"],
      [() => one.login({ portalToken }), "ada"],
    ];
    for (const [login, account] of logins) {
      const { code, message } = await rejection(login());
      assertEquals(code, "INVALID_SETTING");
      assertMatch(message, /keeps the session of \w+, and this login is for another account; /);
      assertMatch(message, new RegExp(`AUTH_STORE end with #${account}`));
    }
    assertEquals([world.logins(), await one.accessToken()], [1, token]);
    // A portal string of the same account is accepted. After a logout, so is one of any account.
    const own = await world.sandbox.portalToken();
    assertEquals((await one.login({ portalToken: own })).source, "portal");
    await one.logout();
    assertEquals((await one.login({ portalToken })).username, "ada");
  },
);

testNeeding(
  NO_REDIS,
  "a refresh takes over the lock of a killed process",
  () =>
    inFolder(async (folder) => {
      await using redis = await startRedis(folder);
      await using sandbox = createSandbox();
      const [asked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let isHeld = false;
      await using provider = serveLocal(async (request) => {
        const { method, headers } = request;
        const body = await request.text();
        if (isHeld) {
          asked.resolve();
          await ended.promise;
        }
        return await sandbox.handle(new Request(sandbox.authUrl, { method, headers, body }));
      });
      const options = {
        ...sandbox.settings,
        authUrl: provider.origin,
        envFile: false,
        store: redis.url,
        timeoutMs: 3_600_000,
      } as const;
      const session = createSession(options);
      await session.login();
      const script = `import { createSession } from ${JSON.stringify(MOD_URL)};
        await createSession(${JSON.stringify(options)}).refresh();`;
      isHeld = true;
      const killing = new AbortController();
      const { signal } = killing;
      const child = runScript(script, { cwd: folder, flags: ["-A", "--no-check"], signal });
      await Promise.race([asked.promise, child]);
      killing.abort();
      await child;
      isHeld = false;
      ended.resolve();
      // The test does not wait until the lock expires by itself.
      const expire = "redis.call('PEXPIRE', redis.call('KEYS', '*:lock')[1], 1)";
      assertEquals(await redis.tell(`EVAL "return ${expire}" 0`), ":1\r\n");
      assertEquals((await session.refresh()).state, "valid");
      const other = createSession(options);
      await other.login();
      assertEquals(await other.accessToken(), await session.accessToken());
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

Deno.test("a session ignores a record with another key or of another program, until the next login", async () => {
  const table = new Table();
  await using world = portless({ session: { store: sealed(table, newStoreKey()) } });
  await world.session.login();
  for (const found of [table.record, { TEXT: "of another program" }]) {
    table.record = found;
    const store = sealed(table, newStoreKey());
    const session = world.another({ store });
    const { code, message } = await rejection(session.accessToken());
    assertEquals(code, "NO_SESSION");
    assertMatch(message, /does not fit this AUTH_STORE_KEY or this version/);
    assertEquals((await session.login()).warnings, []);
    await world.another({ store }).accessToken();
  }
});
