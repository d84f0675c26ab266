import { assert, assertEquals, assertMatch } from "@std/assert";
import { rejection } from "../../support/portless.ts";
import type { RedisServer } from "../../support/redis_server.ts";
import { clusterTest, patient } from "./in_cluster.ts";

/** The locks in a store, as the server lists them. */
const locks = (server: RedisServer) => server.tell("KEYS *:lock");
const NONE = "*0\r\n";

clusterTest(
  "a logout that is aborted while it takes the lock leaves no lock",
  async ({ server, session }) => {
    let asked = () => {};
    const timeout = (ms: number) => {
      asked();
      return patient(ms);
    };
    const one = session({ timeout });
    await one.login();
    const given = new AbortController();
    server.pause();
    const request = new Promise<void>((resolve) => asked = resolve);
    const aborted = rejection(one.logout({ signal: given.signal }));
    await request;
    given.abort();
    await server.resume();
    assertEquals((await aborted).name, "AbortError");
    // This waits until the lock is released.
    assertEquals((await one.refresh()).state, "valid");
    assertEquals(await locks(server), NONE);
  },
);

clusterTest(
  "20 machines with a revoked session send one refresh",
  async ({ server, session, world }) => {
    await session().login();
    const sessions = Array.from({ length: 20 }, () => session());
    for (const each of sessions) await each.accessToken();
    world.sandbox.revokeRefreshTokens();
    world.clock.advance(3_000);
    const errors = await Promise.all(sessions.map((each) => rejection(each.accessToken())));
    const codes = errors.map(({ code }) => code);
    assertEquals(codes.filter((code) => code === "REFRESH_REJECTED").length, 1);
    assertEquals(codes.filter((code) => code === "NO_SESSION").length, 19);
    assertEquals([world.refreshes(), await locks(server)], [1, NONE]);
  },
);

clusterTest(
  "a process that was suspended during a request to the store repeats the request",
  async ({ session, world }) => {
    await session().login();
    let requests = 0;
    const timeout = (ms: number) => {
      if (++requests > 1) return patient(ms);
      // After an hour of suspension, the timer ends before the response is read.
      world.clock.advance(3_600);
      return AbortSignal.abort();
    };
    const one = session({ timeout });
    assertMatch(await one.accessToken(), /^ey/);
    assertEquals(world.refreshes(), 1);
  },
);

clusterTest(
  "the permissions in docs/clusters.md are sufficient, and each one is necessary",
  async ({ server, session, world }) => {
    const page = await Deno.readTextFile(
      new URL("../../../docs/clusters.md", import.meta.url),
    );
    const rules = /\*\*Permissions on the server:\*\*\s+`([^`]+)`/.exec(page)?.[1] ?? "";
    assert(rules.includes("+eval"), "the page has the list");
    const line = `ACL SETUSER worker on >Some-Word-1 ${rules.replaceAll(/\s+/g, " ")}`;
    assertMatch(await server.tell(line), /^\+OK/);
    const address = server.url.replace("//", "//worker:Some-Word-1@").replace(/0$/, "1");
    const [one, other] = [session({ store: address }), session({ store: address })];
    const { checks } = await one.doctor();
    assertEquals(checks.find(({ name }) => name === "store")?.level, "ok");
    assertEquals((await one.login()).warnings, []);
    world.clock.advance(3_000);
    await other.accessToken();
    await one.refresh();
    assertEquals((await other.logout()).warnings, []);
    assertEquals((await rejection(one.refresh())).code, "NO_SESSION");
    for (const word of rules.split(/\s+/).filter((each) => each.startsWith("+"))) {
      await server.tell(`ACL SETUSER worker ${word.replace("+", "-")}`);
      const lacking = session({ store: address });
      const { warnings } = await lacking.login({ force: true }).catch(({ message }) => ({
        warnings: [message],
      }));
      const found = warnings.join();
      assertMatch(found, /does not allow the user in AUTH_STORE to run a command/, word);
      await server.tell(`ACL SETUSER worker ${word}`);
    }
  },
);
