/** One request at a time and one lock: what waits, ends, is dropped, and what is left behind. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";
import { NO_REDIS, type RedisServer } from "../support/redis_server.ts";
import { inCluster, patient } from "./in_cluster.ts";

/** The locks in a store, as the server lists them. */
const locks = (server: RedisServer) => server.tell("KEYS *:lock");
const NONE = "*0\r\n";

for (const what of ["login", "logout"] as const) {
  testNeeding(
    NO_REDIS,
    `a ${what} that is aborted while it takes the lock leaves no lock`,
    () =>
      inCluster(async ({ server, session, world }) => {
        let asked = () => {};
        const timeout = (ms: number) => {
          asked();
          return patient(ms);
        };
        const one = session({ timeout });
        await one.login();
        const given = new AbortController();
        const held = world.hold();
        const change = what === "login"
          ? one.login({ force: true, signal: given.signal })
          : one.logout({ signal: given.signal });
        if (what === "login") await held.arrived;
        server.pause();
        const request = new Promise<void>((resolve) => asked = resolve);
        held.release();
        await request;
        given.abort();
        const aborted = rejection(change);
        await server.resume();
        assertEquals((await aborted).name, "AbortError");
        // It waits until the lock was given back.
        assertEquals((await one.refresh()).state, "valid");
        assertEquals(await locks(server), NONE);
      }),
  );
}

testNeeding(
  NO_REDIS,
  "a lock whose grant did not arrive is given back",
  () =>
    inCluster(async ({ server, session }) => {
      await session().login();
      // Passes everything on, but no response to a request for the lock.
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const serving = (async () => {
        for await (const client of listener) {
          const real = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
          let isSilent = false;
          const noticing = new TransformStream<Uint8Array, Uint8Array>({
            transform(chunk, controller) {
              const text = new TextDecoder().decode(chunk);
              isSilent ||= text.includes("EVAL") && !text.endsWith("\r\n$1\r\n0\r\n");
              controller.enqueue(chunk);
            },
          });
          const silencing = new TransformStream<Uint8Array, Uint8Array>({
            transform: (chunk, controller) => isSilent ? undefined : controller.enqueue(chunk),
          });
          client.readable.pipeThrough(noticing).pipeTo(real.writable).catch(() => {});
          real.readable.pipeThrough(silencing).pipeTo(client.writable).catch(() => {});
        }
      })();
      const store = `redis://127.0.0.1:${listener.addr.port}`;
      // The lock lives for longer than all of these requests.
      const timeout = () => AbortSignal.timeout(400);
      const one = session({ store, timeoutMs: 12_000, timeout });
      assertEquals((await rejection(one.refresh())).code, "STORE_UNREACHABLE");
      assertEquals(await locks(server), NONE);
      listener.close();
      await serving;
    }),
);

testNeeding(
  NO_REDIS,
  "a login ends a refresh that waits for the lock, replaces the holder's, and leaves no lock",
  () =>
    inCluster(async ({ server, session, world }) => {
      const bound = new AbortController();
      const pausing = Promise.withResolvers<void>();
      const [holder, one] = [
        session(),
        session({
          timeout: (ms) => ms === 3_000 ? bound.signal : patient(ms),
          async sleep(ms, signal) {
            pausing.resolve();
            await world.options.sleep?.(ms, signal);
          },
        }),
      ];
      await holder.login();
      await one.accessToken();
      const portalToken = await world.sandbox.portalToken();
      const held = world.hold();
      const slow = holder.refresh();
      await held.arrived;
      const waiting = rejection(one.refresh());
      await pausing.promise;
      const login = one.login({ portalToken });
      bound.abort();
      assertEquals((await waiting).code, "TIMEOUT");
      assertEquals((await login).source, "portal");
      held.release();
      await slow;
      const token = portalToken.replace("bearer ", "");
      for (const each of [holder, one, session()]) assertEquals(await each.accessToken(), token);
      assertEquals(await locks(server), NONE);
    }),
);

testNeeding(
  NO_REDIS,
  "a refresh is dropped if a login of another process became known before it was saved",
  () =>
    inCluster(async ({ session, world }) => {
      const [one, other] = [session(), session()];
      await one.login();
      await other.accessToken();
      const portalToken = await world.sandbox.portalToken();
      const held = world.hold();
      const slow = one.refresh();
      await held.arrived;
      await other.login({ portalToken });
      // A login asks the store before it reads what it was given.
      assertEquals(
        (await rejection(one.login({ portalToken: "two words" }))).code,
        "INVALID_PORTAL_TOKEN",
      );
      held.release();
      await slow;
      const token = portalToken.replace("bearer ", "");
      for (const each of [one, other, session()]) assertEquals(await each.accessToken(), token);
    }),
);

testNeeding(
  NO_REDIS,
  "20 machines on a revoked session ask the provider once",
  () =>
    inCluster(async ({ server, session, world }) => {
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
    }),
);

testNeeding(
  NO_REDIS,
  "a process that was suspended during a request asks once more before it gives up",
  () =>
    inCluster(async ({ session, world }) => {
      await session().login();
      let requests = 0;
      const timeout = (ms: number) => {
        if (++requests > 1) return patient(ms);
        // It wakes after an hour: its timer ends first, whatever has arrived.
        world.clock.advance(3_600);
        return AbortSignal.timeout(0);
      };
      const one = session({ timeout });
      assertMatch(await one.accessToken(), /^ey/);
      assertEquals(world.refreshes(), 1);
    }),
);

Deno.test("a server that sends a byte now and then does not keep a call waiting", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const over = new AbortController();
  const drip = async (client: Deno.Conn) => {
    using _client = client;
    try {
      for (let sent = 0;; sent++) {
        await client.write(new TextEncoder().encode("$"));
        if (sent === 3) over.abort();
        await new Promise((done) => setTimeout(done, 10));
      }
    } catch {
      // The call has ended.
    }
  };
  const dripping = (async () => {
    const clients: Promise<void>[] = [];
    for await (const client of listener) clients.push(drip(client));
    await Promise.all(clients);
  })();
  await using world = portless();
  const store = `redis://127.0.0.1:${listener.addr.port}`;
  const error = await rejection(
    world.another({ store, timeoutMs: 400, timeout: () => over.signal }).accessToken(),
  );
  listener.close();
  await dripping;
  assertMatch(error.message, /: it did not respond in time; start the store/);
});

testNeeding(
  NO_REDIS,
  "a user of the server with the permissions in docs/clusters.md can do everything",
  () =>
    inCluster(async ({ server, session, world }) => {
      const page = await Deno.readTextFile(
        new URL("../../docs/clusters.md", import.meta.url),
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
      // Each word of the list is needed.
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
    }),
);
