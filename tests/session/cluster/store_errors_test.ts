import { assertEquals, assertMatch } from "@std/assert";
import { Connection } from "../../../src/session/redis/connection.ts";
import { portless, rejection } from "../../support/portless.ts";
import { call, clusterTest } from "./in_cluster.ts";
import type { RedisServer } from "../../support/redis_server.ts";

/** A change to the server, the address that is used then, and the message. */
const troubles: [string, string, (url: string) => string, RegExp][] = [
  [
    "holds a key of another type under the name",
    `EVAL "local key = redis.call('KEYS', '*')[1] redis.call('DEL', key) redis.call('SADD', key, 'x')" 0`,
    (url) => url,
    /: a key of this session belongs to another program; delete platform-auth:2:\{\S+\} and platform-auth:2:\{\S+\}:lock on the server, then log in again/,
  ],
  [
    "lets its user do too little",
    "ACL SETUSER limited on >Limited-Word-1 ~* +get",
    (url) => url.replace("//", "//limited:Limited-Word-1@"),
    /: it does not allow the user in AUTH_STORE to run a command that a session needs; grant this user the commands listed in docs\/clusters.md/,
  ],
  [
    "has no memory left",
    "CONFIG SET maxmemory 1",
    (url) => url,
    /: it accepts no writes at the moment; check in the server.s log whether the server is starting or lacks memory/,
  ],
];
for (const [what, line, addressOf, message] of troubles) {
  clusterTest(`the error says that the store ${what}`, async ({ server, session, world }) => {
    await session().login();
    await server.tell(line);
    world.clock.advance(3_000);
    const error = await rejection(call(session({ store: addressOf(server.url) })));
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, message);
    assertEquals(Deno.inspect(error).includes("Limited-Word"), false);
  });
}

/** Writes a record as another program might; `N` stands for the number of the last one. */
async function put(server: RedisServer, text: string): Promise<void> {
  const script = `local key = redis.call('KEYS', '*')[1]
    local number = redis.call('GET', key):match('^%S+')
    redis.call('SET', key, (ARGV[1]:gsub('^N', number)))`;
  await (await Connection.to(new URL(server.url))).run(script, [], [text], 10_000);
}

for (
  const record of [
    "N no JSON",
    `N ${JSON.stringify({ ACCESS_TOKEN: "a".repeat(30), AUTH_SESSION: 5 })}`,
    "else",
  ]
) {
  clusterTest(
    `a record that another program changed (${
      record.slice(0, 10)
    }) is ignored, and a login replaces it`,
    async ({ server, session }) => {
      await session({ storeKey: "" }).login();
      await put(server, record);
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
      assertEquals(await call(session()), 200);
    },
  );
}

clusterTest(
  "an encrypted record cannot be moved to a higher number",
  async ({ server, session }) => {
    await session().login();
    const script = `local key = redis.call('KEYS', '*')[1]
        redis.call('SET', key, (redis.call('GET', key):gsub('^%d', '2')))`;
    await (await Connection.to(new URL(server.url))).run(script, [], [], 10_000);
    const error = await rejection(call(session()));
    assertMatch(error.message, /or was changed since, and is ignored/);
  },
);

Deno.test("a server other than Redis is reported", async () => {
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
    /: the server at this address is not a Redis server; check that AUTH_STORE is the address of a Redis/,
  );
});
