import { assert, assertEquals, assertMatch } from "@std/assert";
import { portless, rejection } from "../../support/portless.ts";
import { call, clusterTest } from "./in_cluster.ts";

clusterTest(
  "while the store is away the tokens in memory count, and are saved when it is back",
  async ({ server, session, world }) => {
    const [one, other] = [session(), session()];
    await one.login();
    await call(other);
    await server.kill();
    assertEquals(await call(one), 200);
    // Nearly over: still good, and worth no wait.
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
    // The logout that could not be written is written now, and ends the session for all.
    assertEquals((await rejection(call(other))).code, "NO_SESSION");
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    await one.login();
    assertEquals([await call(other), one.status().warnings], [200, []]);
  },
);

clusterTest(
  "a store that lost its data has it again from whoever comes",
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

clusterTest(
  "no call with a good token waits for a store that stands still",
  async ({ server, session, world }) => {
    const one = session();
    await one.login();
    await server.pause();
    try {
      assertEquals(await call(one), 200);
      world.clock.advance(1_700);
      assertEquals([await call(one), await call(one)], [200, 200]);
      assertMatch(one.status().warnings.join(), /it did not respond in time/);
      world.clock.advance(2_000);
      const due = call(one);
      await server.resume();
      assertEquals([await due, world.refreshes()], [200, 1]);
      assertEquals(one.status().warnings, []);
    } finally {
      await server.resume();
    }
  },
);

/** Nobody listens there. */
const NOBODY = "redis://127.0.0.1:9";
const AWAY = "STORE_UNREACHABLE";

Deno.test("while the store is away a call waits for most of its deadline, and no longer", async () => {
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
    // It never had a token: only the store knows whether there is one.
    await waited(() => fails(world.another({ store: NOBODY, timeoutMs: 8_000 }).accessToken())),
  );
  for (const each of waits) assert(each > 4_000 && each <= 8_000, waits.join());
  assert(pauses.length - before < 100, `${pauses.length - before} questions`);
});
