import { assert, assertEquals, assertMatch } from "@std/assert";
import { portless, rejection } from "../../support/portless.ts";
import { call, clusterTest } from "./in_cluster.ts";

clusterTest(
  "a session works while its store is down, and repeats failed writes once it is back",
  async ({ server, session, world }) => {
    const [one, other] = [session(), session()];
    await one.login();
    await call(other);
    await server.kill();
    assertEquals(await call(one), 200);
    // The token is still valid, although a refresh is due.
    world.clock.advance(1_700);
    assertEquals([await call(one), world.refreshes()], [200, 0]);
    const status = one.status();
    assertMatch(status.warnings.join(), /store at 127.0.0.1:\d+: the connection was refused/);
    assertMatch(Deno.inspect(status), /the connection was refused/);
    assertEquals((await rejection(session().accessToken())).code, "STORE_UNREACHABLE");
    const error = await rejection(other.logout());
    assertEquals(error.code, "STORE_UNREACHABLE");

    await server.start();
    world.clock.advance(1_000);
    // The logout that could not be saved is saved now, and ends the session for all.
    assertEquals((await rejection(call(other))).code, "NO_SESSION");
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    await one.login();
    assertEquals([await call(other), one.status().warnings], [200, []]);
  },
);

clusterTest(
  "any process restores the session in a store that lost its data",
  async ({ server, session, world }) => {
    const [one, other] = [session(), session()];
    await one.login();
    await other.login();
    await server.kill();
    await server.start();
    world.clock.advance(3_000);
    assertEquals(await Promise.all([call(one), call(other)]), [200, 200]);
    assertEquals([world.logins(), world.refreshes()], [1, 1]);
    assertEquals((await session().login()).source, "store");
  },
  { isKept: false },
);

/** An address at which no server listens. */
const NOBODY = "redis://127.0.0.1:9";
const AWAY = "STORE_UNREACHABLE";

Deno.test("a call waits for an unreachable store for most of its deadline", async () => {
  await using world = portless();
  const session = world.another({ store: NOBODY, timeoutMs: 8_000 });
  const waited = async (work: () => Promise<unknown>) => {
    const started = world.clock.monotonic();
    await work();
    return world.clock.monotonic() - started;
  };
  const fails = async (promise: Promise<unknown>) =>
    assertEquals((await rejection(promise)).code, AWAY);
  const waits = [await waited(() => session.login({ force: true }))];
  world.clock.advance(3_000);
  const { pauses } = world;
  const before = pauses.length;
  waits.push(
    await waited(() => fails(session.accessToken())),
    await waited(() => fails(session.refresh())),
    await waited(() => fails(session.logout())),
    // This session has no token in memory, so only the store can contain one.
    await waited(() => fails(world.another({ store: NOBODY, timeoutMs: 8_000 }).accessToken())),
  );
  for (const each of waits) assert(each > 4_000 && each <= 8_000, waits.join());
  assert(pauses.length - before < 100, `${pauses.length - before} attempts`);
});
