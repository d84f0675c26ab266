import { assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { makeSession } from "../../../src/session.ts";
import { notesOf, rejection } from "../../support/portless.ts";
import { call, clusterTest } from "./in_cluster.ts";

clusterTest(
  "all machines use the session of one login until one of them logs out",
  async ({ server, session, world }) => {
    const { host } = new URL(server.url);
    const [one, other] = [session(), session()];
    assertMatch(notesOf(one.status()).join(), /has not been read yet: the first call reads it/);
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    assertEquals((await one.login()).state, "valid");
    assertEquals((await other.login()).source, "store");
    assertEquals([await call(one), await call(other)], [200, 200]);
    assertEquals(world.logins(), 1);

    world.clock.advance(3_000);
    const answers = Array.from({ length: 20 }, (_, at) => call(at % 2 === 0 ? one : other));
    assertEquals(new Set(await Promise.all(answers)), new Set([200]));
    assertEquals(world.refreshes(), 1);
    assertEquals(await one.accessToken(), await other.accessToken());
    const { notices, envFile, store } = other.status();
    assertEquals([notices, envFile, store], [[], undefined, host]);

    const status = await other.logout();
    assertEquals(status.state, "none");
    assertMatch(
      notesOf(status).join(),
      /the store at \S+ hold no tokens any more; also at the prov/,
    );
    assertEquals((await rejection(one.refresh())).code, "NO_SESSION");
    assertEquals((await rejection(call(session()))).code, "NO_SESSION");
  },
);

clusterTest(
  "a store keeps one session for each account",
  async ({ server, session, store: { storeKey = "" }, world }) => {
    const grace = { username: "grace", password: "Another-Password-1" };
    world.sandbox.addUser(grace);
    const one = makeSession({ ...world.options, store: server.url, storeKey }, false);
    assertEquals((await one.login()).username, "student");
    one.configure({ ...world.options, store: server.url, storeKey, ...grace });
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    assertEquals((await one.login()).username, "grace");
    assertEquals((await session().login()).source, "store");
    // A machine without USERNAME and PASSWORD.
    const { username: _, password: __, ...unnamed } = world.options;
    const worker = (store: string) => createSession({ ...unnamed, store, storeKey });
    const error = await rejection(call(worker(server.url)));
    assertMatch(error.message, /store at \S+ contains no session without an account name\); run/);
    assertEquals(await call(worker(`${server.url}#student`)), 200);
  },
);

clusterTest(
  "a store keeps a session for 30 days after its last refresh",
  async ({ session, server, world }) => {
    const one = session();
    await one.login();
    world.clock.advance(31 * 86_400);
    await server.tell(`EVAL "redis.call('PERSIST', redis.call('KEYS', '*')[1])" 0`);
    // The refresh tokens of this provider last longer than 30 days.
    await one.accessToken();
    const script = "return redis.call('PTTL', redis.call('KEYS', '*')[1])";
    const answer = await server.tell(`EVAL "${script}" 0`);
    assertEquals(Math.round(Number(answer.slice(1)) / 86_400_000), 30);
  },
  { sandbox: { refreshDays: 90 } },
);
