import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../mod.ts";
import { makeSession } from "../../src/session.ts";
import { testNeeding } from "../support/needs.ts";
import { notesOf, rejection } from "../support/portless.ts";
import { call, inCluster, pause } from "./in_cluster.ts";
import { listenIn, NO_REDIS } from "../support/redis_server.ts";

testNeeding(
  NO_REDIS,
  "a login on one machine is the session of all, until a logout on any",
  () =>
    inCluster(async ({ server, session, world }) => {
      const { host } = new URL(server.url);
      const [one, other] = [session(), session()];
      assertMatch(notesOf(one.status()).join(), /has not been read yet: the first call reads it/);
      assertEquals((await rejection(call(one))).code, "NO_SESSION");
      assertEquals((await one.login()).state, "valid");
      const { checks } = await other.doctor();
      const told = ["session", "API"].map((each) =>
        checks.find(({ name }) => name === each)?.level
      );
      assertEquals(told, ["ok", "ok"], "also where nothing was asked of the store yet");
      assertEquals((await other.login()).source, "store");
      assertEquals([await call(one), await call(other)], [200, 200]);
      assertEquals(world.logins(), 1);

      world.clock.advance(3_000);
      const answers = Array.from({ length: 20 }, (_, at) => call(at % 2 === 0 ? one : other));
      assertEquals(new Set(await Promise.all(answers)), new Set([200]));
      assertEquals(world.refreshes(), 1);
      assertEquals(await one.accessToken(), await other.accessToken());
      for (const each of [one, other]) {
        const { notices, envFile, store } = each.status();
        assertEquals([notices, envFile, store], [[], undefined, host]);
        const { checks } = await each.doctor();
        const found = checks.find(({ name }) => name === "store");
        assertEquals([found?.level, found?.message], ["ok", "reachable, with a session"]);
      }

      const status = await other.logout();
      assertEquals([status.state, notesOf(status).join()], [
        "none",
        `signed out here: this session and the store at ${host} hold no tokens any more; also at the provider`,
      ]);
      assertEquals((await rejection(one.refresh())).code, "NO_SESSION");
      assertEquals((await rejection(call(session()))).code, "NO_SESSION");
    }),
);

testNeeding(
  NO_REDIS,
  "another account, client or provider is another session",
  () =>
    inCluster(async ({ server, session, store: { storeKey = "" }, world }) => {
      world.sandbox.addUser({ username: "grace", password: "Another-Password-1" });
      await session().login();
      const grace = session({ username: "grace", password: "Another-Password-1" });
      assertEquals((await grace.login()).source, "password");
      assertEquals((await session().login()).source, "store");
      const other = session({ clientId: "another-client" });
      assertEquals((await rejection(call(other))).code, "NO_SESSION");
      // A machine without USERNAME and PASSWORD.
      const { username: _, password: __, ...unnamed } = world.options;
      const worker = (store: string) => createSession({ ...unnamed, store, storeKey });
      const error = await rejection(call(worker(server.url)));
      assertMatch(error.message, /store at \S+ contains no session without an account name\); run/);
      assertEquals(await call(worker(`${server.url}#student`)), 200);
    }),
);

testNeeding(
  NO_REDIS,
  "who waits for the lock is told when it is free, and need not look again",
  () =>
    inCluster(async ({ session, world }) => {
      const overslept: number[] = [];
      const sleep = async (ms: number, signal?: AbortSignal) => {
        await pause(ms, signal);
        // Between two looks at a lock that is never said to be free.
        if (signal?.aborted !== true) overslept.push(ms);
      };
      await session().login();
      const sessions = Array.from({ length: 8 }, () => session({ sleep }));
      for (let round = 0; round < 5; round++) {
        world.clock.advance(3_000);
        await Promise.all(sessions.map((each) => each.accessToken()));
      }
      assertEquals([world.refreshes(), overslept], [5, []]);
    }),
);

testNeeding(
  NO_REDIS,
  "who waits for another's refresh goes on with its token, and takes no turn at the lock",
  () =>
    inCluster(async ({ server, session, world }) => {
      using wire = listenIn(server.port);
      await session().login();
      const overheard = { store: `redis://127.0.0.1:${wire.port}`, sleep: pause };
      const sessions = Array.from({ length: 12 }, () => session(overheard));
      world.clock.advance(3_000);
      await Promise.all(sessions.map((each) => each.accessToken()));
      // What is new, the lock, the lock once more while it listens, the lock when it is free; its return.
      const most = 5 * sessions.length;
      const asked = wire.heard().split("EVAL").length - 1;
      assertEquals([world.refreshes(), asked > sessions.length, asked <= most], [1, true, true]);
    }),
);

testNeeding(
  NO_REDIS,
  "who waits while others hold the lock, one after the other, does not ask again and again",
  () =>
    inCluster(async ({ server, session, world }) => {
      await session().login();
      const [first, ...others] = [0, 1, 2].map(() => session({ sleep: pause }));
      let held = world.hold();
      const refreshes = [first?.refresh()];
      await held.arrived;
      refreshes.push(...others.map((each) => each.refresh()));
      await pause(100);
      held.release();
      held = world.hold();
      await held.arrived;
      await pause(100);
      const stats = await server.tell("INFO commandstats");
      held.release();
      await Promise.all(refreshes);
      const asked = Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1]);
      assert(asked < 30, `${asked} questions`);
    }),
);

testNeeding(
  NO_REDIS,
  "who waits for the lock for too long is told, and makes no refresh beside the others",
  () =>
    inCluster(async ({ session, world }) => {
      // Any time at all is enough for an answer, but less than that for none: the last question has its own.
      const timeout = (ms: number) => AbortSignal.timeout(ms < 50 ? 0 : Math.max(ms, 1_000));
      const [first, other] = [session(), session({ timeoutMs: 1_000, timeout })];
      await first.login();
      const token = await other.accessToken();
      const held = world.hold();
      const slow = first.refresh();
      await held.arrived;
      const error = await rejection(other.refresh());
      assertEquals(error.code, "TIMEOUT");
      assertMatch(
        error.message,
        /another process has held the lock in the store for too long; try again, or end that process/,
      );
      assertEquals(await other.accessToken(), token);
      world.clock.advance(3_000);
      assertEquals((await rejection(other.accessToken())).code, "TIMEOUT");
      held.release();
      await slow;
      assertEquals(world.refreshes(), 1);
    }),
);

testNeeding(
  NO_REDIS,
  "a refresh that is refused while another machine logs in goes on with that login",
  () =>
    inCluster(async ({ session, world }) => {
      const timeout = (ms: number) => AbortSignal.timeout(Math.max(ms, 1_000));
      const [one, other] = [session({ timeout }), session({ timeout, timeoutMs: 1_000 })];
      await one.login();
      world.clock.advance(3_000);
      world.sandbox.revokeRefreshTokens();
      const portalToken = await world.sandbox.portalToken();
      const held = world.hold();
      const token = one.accessToken();
      await held.arrived;
      await other.login({ portalToken });
      held.release();
      assertEquals(await token, portalToken.replace("bearer ", ""));
      assertEquals(await one.accessToken(), await other.accessToken());
    }),
);

testNeeding(
  NO_REDIS,
  "a login or configure() with another name does not touch the session of the first",
  () =>
    inCluster(async ({ session, store, world }) => {
      const grace = { username: "grace", password: "Another-Password-1" };
      world.sandbox.addUser(grace);
      const one = session();
      await one.login();
      const error = await rejection(one.login(grace));
      assertEquals(error.code, "INVALID_SETTING");
      assertMatch(error.message, /keeps the session of student, and this is a different name; set/);
      const configured = makeSession({ ...world.options, ...store }, false);
      assertEquals((await configured.login()).username, "student");
      configured.configure({ ...world.options, ...store, ...grace });
      assertEquals((await rejection(call(configured))).code, "NO_SESSION");
      assertEquals((await configured.login()).username, "grace");
      assertEquals((await session().login()).username, "student");
    }),
);

testNeeding(
  NO_REDIS,
  "a session that is refreshed after the 30 days is kept on",
  () =>
    inCluster(async ({ session, server, world }) => {
      const one = session();
      await one.login();
      const keptDays = async () => {
        const script = "return redis.call('PTTL', redis.call('KEYS', 'platform-auth:*')[1])";
        const answer = await server.tell(`EVAL "${script}" 0`);
        return Math.round(Number(answer.slice(1)) / 86_400_000);
      };
      assertEquals(await keptDays(), 30);
      world.clock.advance(20 * 86_400);
      await one.accessToken();
      assertEquals(await keptDays(), 10);
      // The number of days is an estimate: this provider's refresh tokens live longer.
      world.clock.advance(11 * 86_400);
      await one.accessToken();
      assertEquals(await keptDays(), 30);
    }, { sandbox: { refreshDays: 90 } }),
);
