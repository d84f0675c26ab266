/** Somebody else may write in the store: what that is good for, and what not. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Connection } from "../../src/session/redis/connection.ts";
import { testNeeding } from "../support/needs.ts";
import { rejection } from "../support/portless.ts";
import { NO_REDIS, type RedisServer } from "../support/redis_server.ts";
import { call, inCluster } from "./in_cluster.ts";

/** Runs a line of Lua, in which `entry` is the name of the session. */
async function inStore(server: RedisServer, line: string, ...words: string[]): Promise<unknown> {
  const connection = await Connection.to(new URL(server.url));
  const script = `local entry; for _, name in ipairs(redis.call('KEYS', '*')) do
    if not name:find(':lock$') then entry = name end end; ${line}`;
  return await connection.run(script, [], words, 10_000);
}

interface Entry {
  readonly number: string;
  readonly id: string;
  readonly data: string;
}

async function entryIn(server: RedisServer): Promise<Entry> {
  const line = "return redis.call('HMGET', entry, 'number', 'id', 'data')";
  const [number = "", id = "", data = ""] = await inStore(server, line) as string[];
  return { number, id, data };
}

async function put(server: RedisServer, { number, id, data }: Entry): Promise<void> {
  const line = "redis.call('HSET', entry, 'number', ARGV[1], 'id', ARGV[2], 'data', ARGV[3])";
  await inStore(server, line, number, id, data);
}

async function questions(server: RedisServer): Promise<number> {
  const stats = await server.tell("INFO commandstats");
  return Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1]);
}

const later = ({ number }: Entry) => `${Number(number) + 60e6}`;
const MOVED: [string, (old: Entry, last: Entry) => Entry][] = [
  ["a higher number", (old, last) => ({ ...old, number: later(last) })],
  ["another id", (old, last) => ({ ...old, number: later(last), id: crypto.randomUUID() })],
  ["the number and id of the last one", (old, last) => ({ ...last, data: old.data })],
];
for (const [what, moved] of MOVED) {
  testNeeding(
    NO_REDIS,
    `an old entry that is put back under ${what} brings no session back`,
    () =>
      inCluster(async ({ server, session }) => {
        const [one, other] = [session(), session()];
        await one.login();
        await other.login();
        const old = await entryIn(server);
        await one.logout({ revoke: false });
        await put(server, moved(old, await entryIn(server)));
        for (const each of [one, other, session()]) {
          const error = await rejection(each.refresh());
          assertEquals(error.code, "NO_SESSION");
        }
        const { message } = await rejection(call(session()));
        assertMatch(
          message,
          /or by an earlier version, or was changed since, and is ignored; set the/,
        );
        await one.login();
        assertEquals([await call(other), await call(session())], [200, 200]);
      }),
  );
}

testNeeding(
  NO_REDIS,
  "a number that is raised while a refresh is under way ends no refresh, and its tokens are kept",
  () =>
    inCluster(async ({ server, session, world }) => {
      const [one, other] = [session({ storeKey: "" }), session({ storeKey: "" })];
      await one.login();
      const held = world.hold();
      const refreshed = one.refresh();
      await held.arrived;
      await inStore(
        server,
        "redis.call('HINCRBY', entry, 'number', 60000000)" +
          "redis.call('HSET', entry, 'id', 'raised')",
      );
      const before = await questions(server);
      held.release();
      await refreshed;
      assert(await questions(server) - before < 12);
      assertEquals(await other.accessToken(), await one.accessToken());
      await other.refresh();
      assertEquals(world.refreshes(), 2);
    }),
);

testNeeding(
  NO_REDIS,
  "a login replaces keys of another type, and all machines have its session",
  () =>
    inCluster(async ({ server, session }) => {
      const [one, other] = [session(), session()];
      await one.login();
      await inStore(
        server,
        "redis.call('DEL', entry, entry .. ':lock') redis.call('SADD', entry, 'x') " +
          "redis.call('SADD', entry .. ':lock', 'x')",
      );
      assertEquals((await one.login({ force: true })).state, "valid");
      assertEquals(await call(other), 200);
    }),
);
