import { assert, assertEquals, assertMatch } from "@std/assert";
import { settlesWithin } from "../support/settles_within.ts";
import { inFolder, MOD_URL, neededVariables } from "../support/child_deno.ts";
import { lackOf, testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";
import { call, inCluster } from "./in_cluster.ts";
import { listenIn, NO_REDIS } from "../support/redis_server.ts";

testNeeding(
  NO_REDIS,
  "while the store is away the tokens in memory count, and are saved when it is back",
  () =>
    inCluster(async ({ server, session, world }) => {
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
    }),
);

testNeeding(
  NO_REDIS,
  "a login while the store is away is saved when it is back",
  () =>
    inCluster(async ({ server, session, world }) => {
      // As performance.timeOrigin and performance.now() return it.
      const now = () => world.clock.now() + 0.123456;
      const [one, other] = [session({ now }), session()];
      await server.kill();
      assertEquals((await one.login({ force: true })).state, "valid");
      assertMatch(one.status().warnings.join(), /until then the tokens in memory are used/);
      await server.start();
      assertEquals((await rejection(call(other))).code, "NO_SESSION");
      world.clock.advance(1_700);
      assertEquals([await call(one), one.status().warnings], [200, []]);
      assertEquals(await other.accessToken(), await one.accessToken());
    }),
);

testNeeding(
  NO_REDIS,
  "a login on a machine that cannot reach the store replaces earlier refreshes once it can",
  () =>
    inCluster(async ({ server, session, world }) => {
      const wire = listenIn(server.port);
      const [one, other] = [session({ store: `redis://127.0.0.1:${wire.port}` }), session()];
      await one.login();
      wire[Symbol.dispose]();
      for (let nth = 0; nth < 3; nth++) await other.refresh();
      await one.login({ force: true });
      const token = await one.accessToken();
      assertEquals(one.status().notices.map(({ code }) => code), ["NOT_SAVED"]);
      using _again = listenIn(server.port, wire.port);
      assertEquals([(await one.login()).warnings, world.logins()], [[], 2]);
      for (const each of [one, session()]) assertEquals(await each.accessToken(), token);
    }),
);

testNeeding(
  NO_REDIS,
  "a login without the lock is saved as soon as the store accepts writes",
  () =>
    inCluster(async ({ server, session, world }) => {
      // The wait for the lock ends without it, and then the session can be saved.
      let waitedMs = 0;
      const sleep = async (ms: number, signal?: AbortSignal) => {
        await world.options.sleep?.(ms, signal);
        if (waitedMs >= 4_000) await server.tell("CONFIG SET maxmemory 0");
        waitedMs += ms;
      };
      const one = session({ sleep, timeoutMs: 8_000 });
      await server.tell("CONFIG SET maxmemory 1");
      await one.login({ force: true });
      assertEquals(await session().accessToken(), await one.accessToken());
    }),
);

testNeeding(
  NO_REDIS,
  "a store that lost its data has it again from whoever comes",
  () =>
    inCluster(async ({ server, session, world }) => {
      const [one, other] = [session(), session()];
      await one.login();
      await other.login();
      await server.kill();
      await server.start();
      world.clock.advance(3_000);
      assertEquals(await Promise.all([call(one), call(other)]), [200, 200]);
      assertEquals([world.logins(), world.refreshes()], [1, 1]);
      assertEquals((await session().login()).source, "store");
    }, { isKept: false }),
);

testNeeding(
  NO_REDIS,
  "no call with a good token waits for a store that stands still",
  () =>
    inCluster(async ({ server, session, world }) => {
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
    }),
);

/** Nobody listens there. */
const NOBODY = "redis://127.0.0.1:9";
const AWAY = "STORE_UNREACHABLE";

Deno.test("while the store is away a call waits for most of the deadline, and nothing for longer", async () => {
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

Deno.test("a call that is given up while the store is away sends it nothing more", async () => {
  await using world = portless();
  const given = new AbortController();
  let pauses = 0;
  const sleep = () => {
    pauses++;
    given.abort();
    return Promise.resolve();
  };
  const session = world.another({ store: NOBODY, sleep });
  const { signal } = given;
  const error = await rejection(session.accessToken({ signal }));
  assertEquals(error.name, "AbortError");
  // Another session asks for as long as it may: time enough for one more question.
  assertEquals((await rejection(world.another({ store: NOBODY }).accessToken())).code, AWAY);
  assertEquals(pauses, 1);
});

/** Listens, and has the maximum number of waiting connections: the next one gets no response. */
const FULL = `import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(0)
waiting = [socket.socket() for _ in range(4)]
for each in waiting:
    each.setblocking(False)
    each.connect_ex(server.getsockname())
print(server.getsockname()[1], flush=True)
sys.stdin.read()
`;

testNeeding(
  await lackOf("python3", "--version"),
  "a script whose store takes no connection gets its error, and ends",
  () =>
    inFolder(async (cwd) => {
      const args = ["-c", FULL];
      const pipes = { stdin: "piped", stdout: "piped" } as const;
      await using full = new Deno.Command("python3", { args, ...pipes }).spawn();
      const reader = full.stdout.getReader();
      const port = new TextDecoder().decode((await reader.read()).value).trim();
      await reader.cancel();
      const options = {
        store: `redis://127.0.0.1:${port}`,
        envFile: false,
        authUrl: "http://127.0.0.1:9/",
        clientId: "client",
        username: "student",
        timeoutMs: 1_000,
      };
      const script = `import { createSession } from ${JSON.stringify(MOD_URL)};
        const session = createSession(${JSON.stringify(options)});
        await session.accessToken().catch(({ code }) => console.log(code));`;
      await Deno.writeTextFile(`${cwd}/script.ts`, script);
      await using child = new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "--no-lock", "-A", "script.ts"],
        cwd,
        clearEnv: true,
        env: neededVariables(),
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const ended = Promise.all([new Response(child.stdout).text(), child.status]);
      if (!await settlesWithin(ended, 30_000)) child.kill();
      const [said, { code }] = await ended;
      await full.stdin.close();
      assertEquals([said, code], [`${AWAY}\n`, 0]);
    }),
);
