import { assertEquals, assertMatch } from "@std/assert";
import type { ConfigError } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";
import { call, inCluster } from "./in_cluster.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";

/** What somebody does to the server, the address that is used then, and what is said of it. */
const troubles: [string, string, (url: string) => string, RegExp][] = [
  [
    "holds something else under the name",
    `EVAL "redis.call('SET', redis.call('KEYS', '*')[1], 'else')" 0`,
    (url) => url,
    /: the key with the name of this session belongs to another program; log in again, which replaces the key/,
  ],
  [
    "has no such database",
    "PING",
    (url) => url.replace(/0$/, "99"),
    /: it has no database with this number; correct the number at the end of AUTH_STORE/,
  ],
  [
    "lets its user do too little",
    "ACL SETUSER limited on >Limited-Word-1 ~* +get",
    (url) => url.replace("//", "//limited:Limited-Word-1@"),
    /: the user of AUTH_STORE lacks the permission for a command; grant this user the commands listed in docs\/clusters.md/,
  ],
  [
    "has no memory left",
    "CONFIG SET maxmemory 1",
    (url) => url,
    /: it accepts no writes at the moment; check in its log whether it is starting or lacks memory/,
  ],
];
for (const [what, line, addressOf, message] of troubles) {
  testNeeding(
    NO_REDIS,
    `a store that ${what} is told as such`,
    () =>
      inCluster(async ({ server, session, world }) => {
        await session().login();
        await server.tell(line);
        world.clock.advance(3_000);
        const error = await rejection(call(session({ store: addressOf(server.url) })));
        assertEquals(error.code, "STORE_UNREACHABLE");
        assertMatch(error.message, message);
        assertEquals(Deno.inspect(error).includes("Limited-Word"), false);
      }),
  );
}

for (const [field, value] of [["number", "9e99"], ["number", "nan"], ["given", "inf"]] as const) {
  testNeeding(
    NO_REDIS,
    `an entry whose ${field} another program set to ${value} is told as such, with its key`,
    () =>
      inCluster(async ({ server, session }) => {
        await session().login();
        const key = (await server.tell("KEYS *")).split("\r\n")[2] ?? "";
        await server.tell(`HSET ${key} ${field} ${value}`);
        const error = await rejection(call(session())) as ConfigError;
        assertEquals(error.code, "STORE_UNREACHABLE");
        assertMatch(error.problem, /: another program changed the entry of this session$/);
        assertEquals(error.fix, `delete the key ${key} on the server, then log in again`);
        await server.tell(`DEL ${key}`);
        const one = session();
        assertEquals([(await one.login()).warnings, await call(one)], [[], 200]);
      }),
  );
}

const SOMETHING = "a".repeat(30);
for (
  const entry of [
    "null",
    "no JSON",
    JSON.stringify({ ACCESS_TOKEN: SOMETHING, AUTH_SESSION: 5 }),
  ]
) {
  testNeeding(
    NO_REDIS,
    `an entry of others (${entry.slice(0, 8)}) is ignored, and a login repairs it`,
    () =>
      inCluster(async ({ server, session }) => {
        await session({ storeKey: "" }).login();
        const script = "redis.call('HSET', redis.call('KEYS', '*')[1], 'data', ARGV[1], 'id', 'x')";
        await server.tell(`EVAL "${script}" 0 ${JSON.stringify(entry)}`);
        for (const storeKey of ["", undefined]) {
          const one = session({ ...(storeKey === "" && { storeKey }) });
          const error = await rejection(call(one));
          assertEquals(error.code, "NO_SESSION");
          assertMatch(
            error.message,
            /saved with another AUTH_STORE_KEY or by an earlier version, or was changed since, and is/,
          );
        }
        const one = session();
        assertEquals([(await one.login()).warnings, await call(one)], [[], 200]);
      }),
  );
}

testNeeding(
  NO_REDIS,
  "an entry with something else in the place of a token says so",
  () =>
    inCluster(async ({ server, session }) => {
      await session({ storeKey: "" }).login();
      const script = "redis.call('HSET', redis.call('KEYS', '*')[1], 'data', ARGV[1], 'id', 'x')";
      const entry = JSON.stringify({ ACCESS_TOKEN: "two words" });
      await server.tell(`EVAL "${script}" 0 ${JSON.stringify(entry)}`);
      const error = await rejection(call(session({ storeKey: "" })));
      assertMatch(error.message, /ACCESS_TOKEN in the store is not a token and is ignored; run/);
    }),
);

testNeeding(
  NO_REDIS,
  "a replica is read, and said to take no writes",
  () =>
    inCluster(async ({ server, session, world }) => {
      await session().login();
      await inFolder(async (folder) => {
        const replica = [
          "--replicaof",
          "127.0.0.1",
          `${server.port}`,
          "--repl-diskless-sync-delay",
          "0",
        ];
        await using other = await startRedis(folder, false, replica);
        while (!(await other.tell("INFO replication")).includes("master_link_status:up"));
        const one = session({ store: other.url });
        assertEquals(await call(one), 200);
        world.clock.advance(3_000);
        assertMatch(
          (await rejection(call(one))).message,
          /: it accepts no writes at the moment; name the primary/,
        );
      });
    }),
);

Deno.test("what is no Redis server is told as such", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    for await (const client of listener) {
      (async () => {
        const decoder = new TextDecoder();
        for await (const chunk of client.readable) {
          const commands = decoder.decode(chunk).match(/\*\d+\r\n/g) ?? [];
          await client.write(new TextEncoder().encode("+OK\r\n".repeat(commands.length)));
        }
      })().catch(() => {});
    }
  })();
  await using world = portless({ session: { timeoutMs: 400 } });
  const session = world.another({ store: `redis://127.0.0.1:${listener.addr.port}` });
  const error = await rejection(session.accessToken());
  listener.close();
  await answering;
  assertEquals(error.code, "STORE_UNREACHABLE");
  assertMatch(
    error.message,
    /: the server at this address is not a Redis server; check that AUTH_STORE names a Redis/,
  );
});
