import { assert, assertEquals } from "@std/assert";
import {
  redisStore,
  type RedisStoreOptions,
  type SessionRecord,
  type SessionStore,
} from "../../src/redis/mod.ts";
import { LOCK_WAIT_SHARE } from "../../src/session/plan.ts";
import { newStoreKey } from "../support/store_key.ts";
import { checkStore } from "../../src/sandbox/mod.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { rejection } from "../support/portless.ts";
import { listenIn } from "../support/redis_server.ts";
import { patient, RECORD, redisTest } from "./in_redis.ts";

/** A lock with this time limit does not expire during a test. */
const LONG = { timeoutMs: 3_600_000 } satisfies RedisStoreOptions;

/** Stores a record, as a login does. */
async function save(store: SessionStore, record: SessionRecord): Promise<void> {
  await using lock = await store.lock(patient());
  await lock.write(record, patient());
}

redisTest("checkStore() accepts a store with and without encryption", async (_, open) => {
  for (const key of [undefined, newStoreKey()]) {
    const name = crypto.randomUUID();
    await checkStore(() => open({ key, name }), { signal: patient() });
  }
});

redisTest("a record lasts for 30 days after it was last saved", async (server, open) => {
  await save(open(), {});
  await server.tell(`PERSIST ${RECORD}`);
  await save(open(), {});
  const answer = await server.tell(`PTTL ${RECORD}`);
  assertEquals(Math.round(Number(answer.slice(1)) / 86_400_000), 30);
});

redisTest(
  "a lock lasts longer than a request to the provider, but not as long as others wait for it",
  async (server, open) => {
    await using _lock = await open(LONG).lock(patient());
    const answer = await server.tell(`PTTL ${RECORD}:lock`);
    const share = Number(answer.slice(1)) / LONG.timeoutMs;
    assert(share > 0.5 && share < LOCK_WAIT_SHARE, `${share}`);
  },
);

redisTest("a server keeps a session for each name", async (server, open) => {
  await save(open(), { ACCESS_TOKEN: "default" });
  await save(redisStore(`${server.url}#ada%20l`), { ACCESS_TOKEN: "ada" });
  await save(redisStore(new URL(`${server.url}#ada`), { name: "kim" }), { ACCESS_TOKEN: "kim" });
  const found = [open(), open({ name: "ada l" }), open({ name: "kim" })]
    .map(async (store) => (await store.read(patient()))?.ACCESS_TOKEN);
  assertEquals(await Promise.all(found), ["default", "ada", "kim"]);
});

redisTest("a record that was copied to another name cannot be read", async (server, open) => {
  const key = newStoreKey();
  await save(open({ key }), { ACCESS_TOKEN: "a-token" });
  await server.tell(`COPY ${RECORD} ${RECORD.replace("default", "kim")}`);
  const found = await open({ key, name: "kim" }).read(patient());
  assertEquals(Object.keys(found ?? {}), ["SEALED"]);
});

redisTest(
  "after its lock expires, a holder cannot save or release anything",
  async (server, open) => {
    const late = await open({ timeoutMs: 1 }).lock(patient());
    await using next = await open(LONG).lock(patient());
    const { code } = await rejection(late.write({ ACCESS_TOKEN: "late" }, patient()));
    assertEquals(code, "STORE_UNREACHABLE");
    const holder = await server.tell(`GET ${RECORD}:lock`);
    await late[Symbol.asyncDispose]();
    assertEquals(await server.tell(`GET ${RECORD}:lock`), holder);
    await next.write({ ACCESS_TOKEN: "next" }, patient());
    assertEquals(await open().read(patient()), { ACCESS_TOKEN: "next" });
  },
);

/**
 * A store that does not receive some replies of scripts that took the lock or saved a record. A
 * request whose reply is lost reaches its time limit at once.
 */
function losing(port: number, loses: () => boolean) {
  const timeouts = heldTimeouts();
  const wire = listenIn(port, (reply) => {
    const isLost = reply === ":1\r\n" && loses();
    if (isLost) timeouts.pass(2_000);
    return isLost;
  });
  return {
    store: redisStore(wire.url, LONG),
    async [Symbol.asyncDispose]() {
      await wire[Symbol.asyncDispose]();
      timeouts[Symbol.dispose]();
    },
  };
}

redisTest("a lock is released if the reply to its request is lost", async (server) => {
  const end = new AbortController();
  await using deaf = losing(server.port, () => {
    end.abort();
    return true;
  });
  assertEquals((await rejection(deaf.store.lock(end.signal))).code, "STORE_UNREACHABLE");
  assertEquals(await server.tell(`EXISTS ${RECORD}:lock`), ":0\r\n");
});

redisTest(
  "a request whose reply is lost is repeated, once more even after its signal aborts",
  async (server, open) => {
    const end = new AbortController();
    let replies = 0;
    await using deaf = losing(server.port, () => {
      end.abort();
      return ++replies % 2 === 1;
    });
    await using lock = await deaf.store.lock(end.signal);
    await lock.write({ ACCESS_TOKEN: "saved" }, patient());
    assertEquals([await open().read(patient()), replies], [{ ACCESS_TOKEN: "saved" }, 4]);
  },
);

redisTest("requests wait for a server that starts again", async (server, open) => {
  await save(open(), { ACCESS_TOKEN: "a-token" });
  await server.kill();
  const reading = open().read(patient());
  const locking = open().lock(patient());
  await server.start();
  await using _lock = await locking;
  assertEquals(await reading, { ACCESS_TOKEN: "a-token" });
});

redisTest("a text of another program counts as a record without tokens", async (server, open) => {
  for (const text of ["text", '{"ACCESS_TOKEN":5}']) {
    await server.tell(`SET ${RECORD} ${JSON.stringify(text)}`);
    assertEquals(await open().read(patient()), { TEXT: text });
  }
  await save(open(), { ACCESS_TOKEN: "a-token" });
  assertEquals(await open().read(patient()), { ACCESS_TOKEN: "a-token" });
});
