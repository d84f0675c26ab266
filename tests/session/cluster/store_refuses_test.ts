import { assertEquals, assertMatch } from "@std/assert";
import { rejection } from "../../support/portless.ts";
import { until } from "../../support/until.ts";
import { clusterTest } from "./in_cluster.ts";

clusterTest(
  "doctor() reports a store that accepts no writes, and leaves no data in a writable store",
  async ({ server, session, world }) => {
    const one = session();
    const storeCheck = async () => {
      const { checks } = await one.doctor();
      return checks.find(({ name }) => name === "store");
    };
    const { level, message } = await storeCheck() ?? {};
    assertEquals([level, message], ["ok", "reachable, with no session"]);
    // The lock that doctor() took expires at once.
    await until(async () => (await server.tell("DBSIZE")).startsWith(":0"));
    await one.login();
    await server.tell("CONFIG SET maxmemory 1");
    assertEquals((await storeCheck())?.level, "fail");
    // The store can still be read, so doctor() tries the stored token at the API.
    const token = (await session().doctor()).checks.find(({ name }) => name === "token");
    assertEquals([token?.level, world.refreshes()], ["ok", 0]);
  },
);

clusterTest(
  "the error of logout() says that tokens remain in a store that accepts no writes",
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
      /on all devices; the store at \S+ still contains the tokens\)/,
    );
    await server.tell("CONFIG SET maxmemory 0");
    // The second logout repeats the failed write.
    assertEquals((await each.logout()).state, "none");
    await one.login({ force: true });
    await server.tell("CONFIG SET maxmemory 1");
    // A process that has not used the session yet ends it at the provider as well.
    const fresh = await rejection(session().logout());
    assertMatch(fresh.message, /\(signed out here; also at the provider; the store at \S+ still/);
  },
);
