import { assert, assertEquals, assertMatch } from "@std/assert";
import { redisStore } from "../../src/redis/mod.ts";
import { REFUSING } from "../support/free_port.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { rejection } from "../support/portless.ts";
import { serveRaw } from "../support/local_server.ts";
import { patient, RECORD, redisTest } from "./in_redis.ts";

const KEY = new Uint8Array(32).toBase64();
const LOCAL = "redis://127.0.0.1";

/** What cannot be used, and a part of the message. */
const UNUSABLE: [url: string, key: string | undefined, message: RegExp][] = [
  ["127.0.0.1:6379", KEY, /not an address such as rediss:/],
  [`${LOCAL}/0?password=Gehe1m`, KEY, /not an address/],
  ["redis://:Gehe1m%word@127.0.0.1", KEY, /write a literal % as %25/],
  ["redis://%C3:%A9Gehe1m@127.0.0.1", KEY, /not an address/],
  ["redis://10.1.2.3", undefined, /AUTH_STORE_KEY/],
  [LOCAL, "Gehe1m!", /make a key with openssl/],
];

Deno.test("redisStore() refuses an address or a key that cannot be used, and does not quote it", async () => {
  for (const [url, key, message] of UNUSABLE) {
    const error = await rejection(Promise.try(() => redisStore(url, { key })));
    assertEquals(error.code, "INVALID_SETTING", url);
    assertMatch(error.message, message);
    assertEquals(Deno.inspect(error).includes("Gehe1m"), false);
  }
});

const limited = (url: string) => url.replace("//", "//limited:Limited-Word-1@");
const same = (url: string) => url;

/** A problem of a server: the command that causes it, the address to use, and what to do. */
const PERMANENT: [what: string, line: string, address: (url: string) => string, fix: RegExp][] = [
  [
    "has keys of another type",
    `SADD ${RECORD} x`,
    same,
    /delete platform-auth:3:\{default\} and platform-auth:3:\{default\}:lock on the server/,
  ],
  [
    "does not permit a command",
    "ACL SETUSER limited on >Limited-Word-1 ~* +get",
    limited,
    /run a command that a session needs; grant this user the commands listed in docs\/clusters.md/,
  ],
  [
    "rejects the password",
    "ACL SETUSER limited on >Right-Word-1 ~* +@all",
    limited,
    /the password/,
  ],
  ["requires a password", "CONFIG SET requirepass Right-Word-1", same, /the password/],
  ["has no such database", "PING", (url) => `${url}99`, /the number after the port/],
];
for (const [what, line, address, fix] of PERMANENT) {
  redisTest(`a request to a server that ${what} fails at once`, async (server) => {
    await server.tell(line);
    const signal = patient();
    const error = await rejection(redisStore(address(server.url)).read(signal));
    assert(!signal.aborted);
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, fix);
    assertEquals(Deno.inspect(error).includes("Limited-Word"), false);
  });
}

redisTest("a server without memory serves reads, but refuses a lock", async (server, open) => {
  using _timeouts = heldTimeouts();
  await server.tell("CONFIG SET maxmemory 1");
  assertEquals(await open().read(patient()), undefined);
  const error = await rejection(open().lock(AbortSignal.abort()));
  assertEquals(error.code, "STORE_UNREACHABLE");
  assertMatch(error.message, /accepts no writes at the moment; .* lacks memory/);
});

redisTest("the permissions in docs/clusters.md are sufficient", async (server) => {
  const page = await Deno.readTextFile(new URL("../../docs/clusters.md", import.meta.url));
  const rules = /\*\*Permissions on the server:\*\*\s+`([^`]+)`/.exec(page)?.[1] ?? "";
  const line = `ACL SETUSER worker on >Some-Word-1 ${rules.replaceAll(/\s+/g, " ")}`;
  assertMatch(await server.tell(line), /^\+OK/);
  const store = redisStore(server.url.replace("//", "//worker:Some-Word-1@").replace(/0$/, "1"));
  // The second lock shows that the first one was released.
  for (const ACCESS_TOKEN of ["one", "other"]) {
    await using lock = await store.lock(patient());
    await lock.write({ ACCESS_TOKEN }, patient());
    assertEquals(await store.read(patient()), { ACCESS_TOKEN });
  }
});

const ODD_REPLIES = {
  "deeply nested lists": "*1\r\n".repeat(50_000),
  "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n",
};
for (const [what, reply] of Object.entries(ODD_REPLIES)) {
  Deno.test(`a server is not taken for Redis if it responds with ${what}`, async () => {
    using _timeouts = heldTimeouts();
    await using server = serveRaw(async (client) => {
      for await (const _ of client.readable) await client.write(new TextEncoder().encode(reply));
    });
    const store = redisStore(server.origin.replace("http", "redis"));
    const error = await rejection(store.read(AbortSignal.abort()));
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, /not a Redis server; check that AUTH_STORE is the address of a/);
  });
}

Deno.test("a request to a server that is down is repeated, with pauses, until its signal aborts", async () => {
  const end = new AbortController();
  let attempts = 0;
  await using server = serveRaw(() => {
    if (++attempts === 5) end.abort();
    return Promise.resolve();
  });
  const begun = performance.now();
  const store = redisStore(server.origin.replace("http", "redis"));
  assertEquals((await rejection(store.read(end.signal))).code, "STORE_UNREACHABLE");
  // The first four pauses are at least 10, 20, 40 and 80 ms long.
  assert(performance.now() - begun > 140);
});

Deno.test("the error for a store says that the connection was refused", async () => {
  using _timeouts = heldTimeouts();
  const { host } = new URL(REFUSING);
  const error = await rejection(redisStore(`redis://${host}`).read(AbortSignal.abort()));
  assertEquals(error.code, "STORE_UNREACHABLE");
  assertMatch(error.message, /store at 127.0.0.1:2: the connection was refused; start the store/);
});
