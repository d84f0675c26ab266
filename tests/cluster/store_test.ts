import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { newStoreKey } from "../../src/session/cluster/sealing.ts";
import { statusCard } from "../../src/display/card.ts";
import { makeCertificates, openssl } from "../faults/tls_and_proxy.ts";
import { inFolder, MOD_URL, runScript } from "../support/child_deno.ts";
import { notInstalled, testNeeding } from "../support/needs.ts";
import { jwt, type Portless, portless, rejection, statusOf } from "../support/portless.ts";
import { freePort } from "./ssh_server.ts";
import { listenIn, NO_REDIS, type RedisServer, startRedis } from "./redis_server.ts";

/** Two machines, a store, and a provider whose refresh tokens are replaced with each use. */
interface Cluster {
  readonly server: RedisServer;
  readonly world: Portless;
  readonly store: SessionOptions;
  session(more?: SessionOptions): ReturnType<typeof createSession>;
}

async function inCluster(use: (cluster: Cluster) => Promise<void>, isKept = true): Promise<void> {
  await inFolder(async (folder) => {
    await using server = await startRedis(folder, isKept);
    await using world = portless({
      sandbox: { rotateRefreshTokens: true },
      // Whoever waits for the store waits in real time.
      session: { sleep: (ms, signal) => pause(Math.min(ms, 20), signal) },
    });
    const store = { store: server.url, storeKey: newStoreKey() };
    await use({
      server,
      world,
      store,
      session: (more) => world.another({ ...store, ...more }),
    });
  });
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

const call = (session: { authFetch: ReturnType<typeof createSession>["authFetch"] }) =>
  statusOf(session.authFetch("/v1/whoami"));

testNeeding(
  NO_REDIS,
  "a login on one machine is the session of all, until a logout on any",
  () =>
    inCluster(async ({ server, session, world }) => {
      const { host } = new URL(server.url);
      const [one, other] = [session(), session()];
      assertMatch(one.status().notes?.join() ?? "", /was not asked yet: the first call does it/);
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
      for (const each of [one, other]) {
        const { warnings, notes, envFile, store } = each.status();
        assertEquals([warnings, notes, envFile, store], [[], undefined, undefined, host]);
        const { checks } = await each.doctor();
        const found = checks.find(({ name }) => name === "store");
        assertEquals([found?.level, found?.message], ["ok", "answers, and holds a session"]);
      }

      const { state, notes } = await other.logout();
      assertEquals([state, notes?.join()], [
        "none",
        `signed out: this session and the store at ${host} hold no tokens any more; also at the provider`,
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
      assertMatch(error.message, /store at \S+ holds no session without an account name\); run/);
      assertEquals(await call(worker(`${server.url}#student`)), 200);
    }),
);

testNeeding(
  NO_REDIS,
  "no token is on the wire or in the database",
  () =>
    inCluster(async ({ server, session, world, store }) => {
      using wire = listenIn(server.port);
      const overheard = { store: `redis://127.0.0.1:${wire.port}` };
      const [one, other] = [session(overheard), session(overheard)];
      await one.login();
      const tokens = [await one.accessToken()];
      world.clock.advance(3_000);
      await other.refresh();
      tokens.push(await other.accessToken());
      await one.refresh();
      const places = { wire: wire.heard(), database: await server.dump() };
      for (const [place, text] of Object.entries(places)) {
        assert(text.includes("platform-auth:{"), `${place}: the key is there`);
        // Parts are enough: of each token, and of the names beside them, encoded as they might be.
        for (const secret of [...tokens, "ACCESS_TOKEN", "REFRESH_TOKEN", store.storeKey ?? ""]) {
          for (const part of [secret, btoa(secret)]) {
            assertEquals(text.includes(part.slice(0, 24)), false, `${place} shows a secret`);
          }
        }
      }
      // What is listened for is heard where nothing is encrypted.
      const plain = session({ store: `redis://127.0.0.1:${wire.port}/1`, storeKey: "" });
      await plain.login();
      assert(wire.heard().includes(await plain.accessToken()));
    }),
);

testNeeding(
  NO_REDIS,
  "with another key, or none, the session in the store is ignored, and that is said",
  () =>
    inCluster(async ({ session }) => {
      await session().login();
      for (const storeKey of [newStoreKey(), ""]) {
        const error = await rejection(call(session({ storeKey })));
        assertEquals(error.code, "NO_SESSION");
        assertMatch(
          error.message,
          /saved with another AUTH_STORE_KEY and is ignored; set the same/,
        );
      }
    }),
);

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
      assertMatch(statusCard(status), /the connection was refused/);
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
      const [one, other] = [session(), session()];
      await server.kill();
      assertEquals((await one.login({ force: true })).state, "valid");
      assertMatch(one.status().warnings.join(), /until then the tokens in memory count/);
      await server.start();
      assertEquals((await rejection(call(other))).code, "NO_SESSION");
      world.clock.advance(1_700);
      assertEquals([await call(one), one.status().warnings], [200, []]);
      assertEquals(await other.accessToken(), await one.accessToken());
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
    }, false),
);

testNeeding(
  NO_REDIS,
  "no call with a good token waits for a store that stands still",
  () =>
    inCluster(async ({ server, session, world }) => {
      const one = session();
      await one.login();
      server.pause();
      try {
        assertEquals(await call(one), 200);
        world.clock.advance(1_700);
        assertEquals([await call(one), await call(one)], [200, 200]);
        assertMatch(one.status().warnings.join(), /it did not answer in time/);
        world.clock.advance(2_000);
        const due = call(one);
        server.resume();
        assertEquals([await due, world.refreshes()], [200, 1]);
        assertEquals(one.status().warnings, []);
      } finally {
        server.resume();
      }
    }),
);

testNeeding(
  NO_REDIS,
  "a password that the store does not accept is told, and not shown",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder, true, ["--requirepass", "Right-Word-1"]);
      await using world = portless();
      const at = (word: string) => server.url.replace("//", `//:${word}@`);
      const error = await rejection(world.another({ store: at("Wrong-Word-1") }).accessToken());
      assertEquals(error.code, "STORE_UNREACHABLE");
      assertMatch(
        error.message,
        /does not accept the user or password of AUTH_STORE; start it, or/,
      );
      assertEquals(Deno.inspect(error).includes("Wrong-Word"), false);
      const session = world.another({ store: at("Right-Word-1") });
      assertEquals((await session.login()).state, "valid");
      assertEquals(JSON.stringify(session.status()).includes("Right-Word"), false);
    }),
);

testNeeding(
  NO_REDIS ?? (openssl ? undefined : notInstalled("openssl is not installed")),
  "over TLS the store must have a certificate that this machine trusts",
  () =>
    inFolder(async (folder) => {
      const { ca } = await makeCertificates(folder);
      const port = freePort();
      const tls = { port: `${port}`, "auth-clients": "no", "ca-cert-file": ca };
      const files = { "cert-file": `${folder}/own.pem`, "key-file": `${folder}/own.key` };
      const more = Object.entries({ ...tls, ...files }).flatMap((
        [name, value],
      ) => [`--tls-${name}`, value]);
      await using _server = await startRedis(folder, true, more);
      const store = `rediss://localhost:${port}`;
      await using world = portless();
      const error = await rejection(world.another({ store }).accessToken());
      assertMatch(error.message, /no trusted TLS connection; start it/);
      const script = `
        import { createSession } from ${JSON.stringify(MOD_URL)};
        const session = createSession({ store: ${JSON.stringify(store)} });
        await session.login({ portalToken: "bearer ${jwt({ exp: 4e9 })}" });
        const other = createSession({ store: ${JSON.stringify(store)} });
        await other.accessToken();
        console.log(other.status().source, other.status().warnings.length);`;
      const flags = [`--allow-net=localhost:${port}`, "--allow-env"];
      const told = await runScript(script, { cwd: folder, flags, env: { DENO_CERT: ca } });
      assertEquals([told.stdout, told.stderr], ["store 0\n", ""]);
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

const cases: [string, SessionOptions, string, RegExp][] = [
  ["no address", { store: "127.0.0.1:6379" }, "INVALID_SETTING", /no address such as redis:/],
  ["plain text", { store: "redis://10.1.2.3" }, "INVALID_SETTING", /lie there for all to read/],
  [
    "a short key",
    { store: "redis://127.0.0.1", storeKey: "c2hvcnQ" },
    ...["INVALID_SETTING", /no key of 43 characters; make one with/] as const,
  ],
  [
    "a host that is not permitted",
    { store: "rediss://store.example" },
    ...[
      "PERMISSION",
      /reach store.example:6379 is missing; run: deno run .*store.example/,
    ] as const,
  ],
];
for (const [what, options, code, message] of cases) {
  Deno.test(`a store with ${what} gives ${code}, before anything is sent`, async () => {
    await using world = portless();
    const session = world.another(options);
    for (const attempt of [() => session.login(), () => call(session), () => session.logout()]) {
      const error = await rejection(attempt());
      assertEquals(error.code, code, error.message);
      assertMatch(error.message, message);
    }
    assertEquals(world.sent, []);
  });
}
