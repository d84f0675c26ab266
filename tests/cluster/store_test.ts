import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../mod.ts";
import { makeSession } from "../../src/session.ts";
import { testNeeding } from "../support/needs.ts";
import { notesOf, rejection } from "../support/portless.ts";
import { call, inCluster } from "./in_cluster.ts";
import { NO_REDIS } from "../support/redis_server.ts";

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
      const grace = { username: "grace", password: "Another-Password-1" };
      world.sandbox.addUser(grace);
      const one = makeSession({ ...world.options, store: server.url, storeKey }, false);
      assertEquals((await one.login()).username, "student");
      one.configure({ ...world.options, store: server.url, storeKey, ...grace });
      assertEquals((await rejection(call(one))).code, "NO_SESSION");
      assertEquals((await one.login()).username, "grace");
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
  "a call that waits for the lock uses another's tokens once they are known",
  () =>
    inCluster(async ({ server, session, world }) => {
      const waiting = Promise.withResolvers<void>();
      let waitedMs = 0;
      const sleep = async (ms: number, signal?: AbortSignal) => {
        waiting.resolve();
        await world.options.sleep?.(ms, signal);
        waitedMs += ms;
      };
      const [one, other] = [session(), session({ sleep, timeoutMs: 60_000 })];
      await one.login();
      await other.accessToken();
      world.clock.advance(3_000);
      const held = world.hold();
      const first = one.accessToken();
      await held.arrived;
      const second = other.accessToken();
      await waiting.promise;
      // A third process takes the lock at once.
      const take = "redis.call('SET', redis.call('KEYS', '*:lock')[1], 'third')";
      await server.tell(`EVAL "${take}" 0`);
      held.release();
      assertEquals([await first, world.refreshes()], [await second, 1]);
      assert(waitedMs < 20_000, `${waitedMs} ms`);
    }),
);

testNeeding(
  NO_REDIS,
  "a process that waits too long for the lock gets an error, and does not refresh",
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
        /another process held the lock of the store for too long; try again, or end that process/,
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
  "a session is kept for 30 days after its last refresh",
  () =>
    inCluster(async ({ session, server, world }) => {
      const one = session();
      await one.login();
      world.clock.advance(31 * 86_400);
      await server.tell(`EVAL "redis.call('PERSIST', redis.call('KEYS', '*')[1])" 0`);
      // The number of days is an estimate: this provider's refresh tokens live longer.
      await one.accessToken();
      const script = "return redis.call('PTTL', redis.call('KEYS', '*')[1])";
      const answer = await server.tell(`EVAL "${script}" 0`);
      assertEquals(Math.round(Number(answer.slice(1)) / 86_400_000), 30);
    }, { sandbox: { refreshDays: 90 } }),
);
