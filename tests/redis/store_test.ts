import { assert, assertEquals } from "@std/assert";
import { redisStore, type SessionRecord, type SessionStore } from "../../src/redis/mod.ts";
import { newStoreKey } from "../support/store_key.ts";
import { checkStore } from "../../src/sandbox/mod.ts";
import { listenIn } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { brief, codeOf, patient, RECORD, redisTest } from "./in_redis.ts";

/** Stores a record, as a login does. */
async function save(store: SessionStore, record: SessionRecord): Promise<void> {
  await using lock = await store.lock(patient());
  await lock.write(record, patient());
}

/** Whether a reply says that the lock was granted, that the record was saved, or the like. */
const isFlag = (reply: string) => reply === ":1\r\n";

redisTest("a store returns what another store has saved", async (_, open) => {
  assertEquals(await open().read(patient()), undefined);
  const record = { ACCESS_TOKEN: "x".repeat(4_096), REFRESH_TOKEN: "é\n漢", FUTURE_LINE: "" };
  await save(open(), record);
  assertEquals(await open().read(patient()), record);
  await save(open(), {});
  assertEquals(await open().read(patient()), {});
});

redisTest("a record lasts for 30 days after it was last saved", async (server, open) => {
  await save(open(), {});
  await server.tell(`PERSIST ${RECORD}`);
  await save(open(), {});
  const answer = await server.tell(`PTTL ${RECORD}`);
  assertEquals(Math.round(Number(answer.slice(1)) / 86_400_000), 30);
});

redisTest("a server keeps a session for each name", async (server, open) => {
  await save(open(), { ACCESS_TOKEN: "default" });
  await save(redisStore(`${server.url}#ada`), { ACCESS_TOKEN: "ada" });
  await save(redisStore(new URL(`${server.url}#ada`), { name: "kim" }), { ACCESS_TOKEN: "kim" });
  const found = [open(), open({ name: "ada" }), open({ name: "kim" })]
    .map(async (store) => (await store.read(patient()))?.ACCESS_TOKEN);
  assertEquals(await Promise.all(found), ["default", "ada", "kim"]);
});

redisTest("one of two stores has the lock, and a read does not wait for it", async (_, open) => {
  const one = await open().lock(patient());
  const signal = brief();
  const error = await open().lock(signal).catch((error) => error);
  assert(error === signal.reason, "a busy lock is not an error of the store");
  assertEquals(await open().read(patient()), undefined);
  const other = open().lock(patient());
  await one[Symbol.asyncDispose]();
  await (await other)[Symbol.asyncDispose]();
});

redisTest(
  "an aborted wait for a busy lock is not reported as a problem of the server",
  async (server, open) => {
    using wire = listenIn(server.port);
    await using _lock = await open().lock(patient());
    const end = new AbortController();
    const store = redisStore(`redis://127.0.0.1:${wire.port}/0`);
    const waiting = store.lock(end.signal).catch((error) => error);
    await until(() => wire.heard().includes(":0\r\n"));
    server.pause();
    end.abort();
    assert(await waiting === end.signal.reason);
    server.resume();
  },
);

redisTest("20 stores have the lock in turn", async (_, open) => {
  let holders = 0;
  await Promise.all(Array.from({ length: 20 }, async (_, at) => {
    const store = open();
    await using lock = await store.lock(patient());
    assertEquals(++holders, 1);
    const record = await store.read(patient()) ?? {};
    await lock.write({ ...record, [`LINE_${at}`]: "" }, patient());
    holders--;
  }));
  assertEquals(Object.keys(await open().read(patient()) ?? {}).length, 20);
});

redisTest("after its lock expires, a holder cannot save or release anything", async (_, open) => {
  const late = await open({ timeoutMs: 10 }).lock(patient());
  await using next = await open().lock(patient());
  assertEquals(await codeOf(late.write({ ACCESS_TOKEN: "late" }, patient())), "STORE_UNREACHABLE");
  await late[Symbol.asyncDispose]();
  assertEquals(await codeOf(open().lock(brief())), "TimeoutError", "the next holder has the lock");
  await next.write({ ACCESS_TOKEN: "next" }, patient());
  assertEquals(await open().read(patient()), { ACCESS_TOKEN: "next" });
});

redisTest("a lock is released if the reply to its request is lost", async (server, open) => {
  using wire = listenIn(server.port, isFlag);
  // This lock does not expire during the test.
  const store = redisStore(`redis://127.0.0.1:${wire.port}/0`, { timeoutMs: 3_600_000 });
  assertEquals(await codeOf(store.lock(brief())), "STORE_UNREACHABLE");
  assert(wire.heard().includes(":lock"), "the server got the request");
  await (await open().lock(patient()))[Symbol.asyncDispose]();
});

redisTest("a lock request or a write is repeated if its reply is lost", async (server, open) => {
  let left = 2;
  using wire = listenIn(server.port, (reply) => isFlag(reply) && left-- > 0);
  await save(redisStore(`redis://127.0.0.1:${wire.port}/0`), { ACCESS_TOKEN: "saved" });
  assertEquals([left < 1, await open().read(patient())], [true, { ACCESS_TOKEN: "saved" }]);
});

redisTest("lock() makes one attempt even if its signal is already aborted", async (_, open) => {
  // The attempt is brief, so a busy machine may need several.
  await until(async () => await codeOf(open().lock(AbortSignal.abort())) === "none");
});

redisTest("requests wait for a server that starts again", async (server, open) => {
  await save(open(), { ACCESS_TOKEN: "a-token" });
  await server.kill();
  const reading = open().read(patient());
  const locking = open().lock(patient());
  await server.start();
  await using lock = await locking;
  assertEquals(await reading, { ACCESS_TOKEN: "a-token" });
  server.pause();
  const writing = lock.write({}, patient());
  server.resume();
  await writing;
});

redisTest(
  "a server that lost its data has no record, and its locks are free",
  async (server, open) => {
    await save(open(), { ACCESS_TOKEN: "a-token" });
    const lost = await open().lock(patient());
    await server.kill();
    await server.start();
    assertEquals(await open().read(patient()), undefined);
    assertEquals(await codeOf(lost.write({}, patient())), "STORE_UNREACHABLE");
    await save(open(), {});
  },
  false,
);

redisTest("a text of another program counts as a record without tokens", async (server, open) => {
  for (const text of ["text", "[]", "null", '{"ACCESS_TOKEN":5}', ""]) {
    await server.tell(`SET ${RECORD} ${JSON.stringify(text)}`);
    const { ACCESS_TOKEN, ...rest } = await open().read(patient()) ?? {};
    assertEquals([ACCESS_TOKEN, Object.keys(rest).length], [undefined, 1], text);
  }
  await save(open(), { ACCESS_TOKEN: "a-token" });
  assertEquals(await open().read(patient()), { ACCESS_TOKEN: "a-token" });
});

redisTest("checkStore() accepts a store with and without encryption", async (_, open) => {
  for (const key of [undefined, newStoreKey()]) {
    const name = crypto.randomUUID();
    await checkStore(() => open({ key, name }), { signal: patient() });
  }
});
