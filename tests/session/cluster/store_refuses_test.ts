/** A store that responds with a refusal: the messages about a save, a logout and a read. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";
import { call, clusterTest } from "./in_cluster.ts";

clusterTest(
  "doctor() finds a store that takes no writes, and leaves no trace in one that does",
  async ({ server, session, world }) => {
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
    assertMatch(fix ?? "", /^check in the server.s log/);
    // Its content is read, and tried at the API.
    const token = (await session().doctor()).checks.find(({ name }) => name === "token");
    assertEquals([token?.level, world.refreshes()], ["ok", 0]);
  },
);

clusterTest(
  "the status says that a login is only in memory until the store accepts it",
  async ({ server, session, world }) => {
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
  },
);

clusterTest(
  "a logout that a store cannot take says how far it went, and what to do",
  async ({ server, session }) => {
    const one = session();
    await one.login();
    await server.tell("CONFIG SET maxmemory 1");
    const each = session();
    await each.login();
    const { code, message } = await rejection(each.logout({ everywhere: true }));
    assertEquals(code, "STORE_UNREACHABLE");
    assertMatch(
      message,
      /on all devices; the store at \S+ still contains the tokens\); check in the server.s log.* and try again/,
    );
    await server.tell("CONFIG SET maxmemory 0");
    // The write that failed is made now.
    assertEquals((await each.logout()).state, "none");
    await one.login({ force: true });
    await server.tell("CONFIG SET maxmemory 1");
    // A process that only now learns of the session ends it at the provider all the same.
    const fresh = await rejection(session().logout());
    assertMatch(fresh.message, /\(signed out here; also at the provider; the store at \S+ still/);
  },
);

testNeeding(
  NO_REDIS,
  "a missing or wrong password of the store is an error at once, without another attempt",
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
