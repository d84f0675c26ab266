/** A store that responds with a refusal: the messages about a save, a logout and a read. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";
import { call, inCluster, patient } from "./in_cluster.ts";

testNeeding(
  NO_REDIS,
  "doctor() finds a store that takes no writes, and leaves no trace in one that does",
  () =>
    inCluster(async ({ server, session, world }) => {
      const one = session();
      const found = async () =>
        (await one.doctor()).checks.filter(({ name }) => name === "store")
          .map(({ level, message, fix }) => [level, message, fix]);
      assertEquals(await found(), [["ok", "reachable, with no session", undefined]]);
      // A lock of a moment, beside the session's.
      while (!(await server.tell("DBSIZE")).startsWith(":0"));
      await one.login();
      await server.tell("CONFIG SET maxmemory 1");
      const [[level, message, fix] = []] = await found();
      assertEquals(level, "fail");
      assertMatch(message ?? "", /it accepts no writes at the moment$/);
      assertMatch(fix ?? "", /^check in its log/);
      // Its content is read, and tried at the API.
      const token = (await session().doctor()).checks.find(({ name }) => name === "token");
      assertEquals([token?.level, world.refreshes()], ["ok", 0]);
    }),
);

testNeeding(
  NO_REDIS,
  "a login that could not be saved is said to be in memory only, until it is saved",
  () =>
    inCluster(async ({ server, session, world }) => {
      const one = session();
      await server.tell("CONFIG SET maxmemory 1");
      await one.login({ force: true });
      const status = one.status();
      assertEquals([status.state, status.store], ["valid", undefined]);
      assertEquals(status.notices.map(({ code }) => code), ["NOT_SAVED"]);
      assertMatch(status.warnings.join(), /^the session is kept in memory only: Cannot use the se/);
      assertEquals(Deno.inspect(status).includes("kept in the store"), false);
      // It is away in another way now, and the session still unsaved.
      await server.kill();
      world.clock.advance(1_700);
      await call(one);
      // Nor could it be refreshed in good time.
      const codes = one.status().notices.map(({ code }) => code);
      assertEquals(codes, ["NOT_SAVED", "EARLY_REFRESH_FAILED"]);
      await server.start();
      world.clock.advance(60);
      assertEquals(await call(one), 200);
      assertEquals([one.status().warnings, typeof one.status().store], [[], "string"]);
    }),
);

testNeeding(
  NO_REDIS,
  "the reason of a store is reported even if the last request gets no response",
  () =>
    inCluster(async ({ server, session }) => {
      await session().login();
      await server.tell("CONFIG SET maxmemory 1");
      const timeout = (ms: number) => ms > 250 ? patient(ms) : AbortSignal.timeout(0);
      const { code, message } = await rejection(session({ timeout }).refresh());
      assertEquals(code, "STORE_UNREACHABLE");
      assertMatch(message, /it accepts no writes at the moment; check in its log/);
    }),
);

testNeeding(
  NO_REDIS,
  "a logout that a store cannot take says how far it went, and what to do",
  () =>
    inCluster(async ({ server, session }) => {
      const one = session();
      await one.login();
      await server.tell("CONFIG SET maxmemory 1");
      for (
        const [everywhere, how] of [
          [false, "signed out here; also at the provider"],
          [true, "signed out here; also at the provider, on all devices"],
        ] as const
      ) {
        const each = session();
        await each.login();
        const { code, message } = await rejection(each.logout({ everywhere }));
        assertEquals(code, "STORE_UNREACHABLE");
        assertMatch(
          message,
          /^Cannot use the session in the store at \S+: it accepts no writes at the moment \(signed/,
        );
        assertMatch(
          message,
          new RegExp(`\\(${how}; the store at \\S+ still contains the tokens\\); check in its log`),
        );
        assertMatch(message, / and try again/);
        assertEquals(each.status().warnings.join().includes("tokens in memory"), false);
        await server.tell("CONFIG SET maxmemory 0");
        // The write that failed is made now.
        assertEquals((await each.logout()).state, "none");
        await one.login({ force: true });
        await server.tell("CONFIG SET maxmemory 1");
      }
      // A process that only now learns of the session ends it at the provider all the same.
      const fresh = await rejection(session().logout());
      assertMatch(fresh.message, /\(signed out here; also at the provider; the store at \S+ still/);
      await server.kill();
      const { message } = await rejection(session().logout({ everywhere: true }));
      assertMatch(
        message,
        /: the connection was refused \(there was no session to end here; not on other devices: the request needs a token, and none is left; the store at \S+ may still contain tokens\); start the store/,
      );
    }),
);

Deno.test("the notice of a logout disappears when another process logs in", async () => {
  await using world = portless({ file: true });
  const [a, b] = [world.session, world.another()];
  await a.login();
  await b.accessToken();
  await b.logout();
  const codes = () => b.status().notices.map(({ code }) => code);
  assertEquals(codes(), ["SIGNED_OUT"]);
  await a.login({ force: true });
  await b.accessToken();
  assertEquals([b.status().state, codes()], ["valid", []]);
});

testNeeding(
  NO_REDIS,
  "a wrong or missing password of the store is reported at once, after a single request",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder, true, ["--requirepass", "Right-Word-1"]);
      await using world = portless();
      for (const store of [server.url, server.url.replace("//", "//:Wrong-Word-1@")]) {
        const session = world.another({ store });
        for (const use of [() => session.accessToken(), () => session.login()]) {
          const error = await rejection(use());
          assertEquals(error.code, "STORE_UNREACHABLE");
          assertMatch(error.message, /; correct the user and the password in AUTH_STORE/);
          assertEquals(Deno.inspect(error).includes("Wrong-Word"), false);
        }
      }
      assertEquals(world.pauses, []);
      const right = world.another({ store: server.url.replace("//", "//:Right-Word-1@") });
      assertEquals(JSON.stringify(await right.login()).includes("Right-Word-1"), false);
    }),
);
