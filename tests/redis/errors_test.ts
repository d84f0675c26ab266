import { assert, assertEquals, assertMatch } from "@std/assert";
import { redisStore, type SessionStore } from "../../src/redis/mod.ts";
import { inFolder, runScript } from "../support/child_deno.ts";
import { rejection } from "../support/portless.ts";
import { serveRaw } from "../support/raw_http.ts";
import { brief, codeOf, patient, RECORD, redisTest } from "./in_redis.ts";

const KEY = new Uint8Array(32).toBase64();
const LOCAL = "redis://127.0.0.1";

const requestsTo = (store: SessionStore): ((signal: AbortSignal) => Promise<unknown>)[] => [
  (signal) => store.read(signal),
  (signal) => store.lock(signal),
];

/** What cannot be used, and a part of the message. */
const UNUSABLE: [what: string, url: string, key: string | undefined, message: RegExp][] = [
  ["an address without a scheme", "127.0.0.1:6379", KEY, /not an address such as rediss:/],
  ["a query", `${LOCAL}/0?password=Gehe1m`, KEY, /not an address/],
  ["an unescaped %", "redis://:Gehe1m%word@127.0.0.1", KEY, /write a literal % as %25/],
  ["a blank as the host", "redis://%20:1", KEY, /not an address/],
  ["an escaped % in the host", "redis://%25E0%25A4:1", KEY, /not an address/],
  [
    "a user name with half a UTF-8 character",
    "redis://%C3:%A9Gehe1m@127.0.0.1",
    KEY,
    /not an address/,
  ],
  ["a remote server without encryption", "redis://10.1.2.3", undefined, /AUTH_STORE_KEY/],
  ["a key that is too short", LOCAL, "c2hvcnQ", /make a key with openssl/],
  ["an empty key", LOCAL, "", /make a key with openssl/],
  ["a key that is not base64", LOCAL, "Gehe1m!", /make a key with openssl/],
];
for (const [what, url, key, message] of UNUSABLE) {
  Deno.test(`redisStore() refuses ${what}`, async () => {
    const error = await rejection(Promise.try(() => redisStore(url, { key })));
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, message);
    assertEquals(Deno.inspect(error).includes("Gehe1m"), false);
  });
}

Deno.test("redisStore() refuses a timeoutMs that a session would refuse", async () => {
  for (const timeoutMs of [0, 1.5, NaN, 3_600_001]) {
    const error = await rejection(Promise.try(() => redisStore(LOCAL, { timeoutMs })));
    assert(error instanceof TypeError);
  }
});

const limited = (url: string) => url.replace("//", "//limited:Limited-Word-1@");
const same = (url: string) => url;

/** A problem of a server: the command that causes it, the address to use, and what to do. */
const PERMANENT: [what: string, line: string, address: (url: string) => string, fix: RegExp][] = [
  [
    "has keys of another type",
    `EVAL "for _, key in ipairs(KEYS) do redis.call('SADD', key, 'x') end" 2 ${RECORD} ${RECORD}:lock`,
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
    const store = redisStore(address(server.url));
    for (const request of requestsTo(store)) {
      const started = performance.now();
      const error = await rejection(request(patient()));
      assert(performance.now() - started < 30_000);
      assertEquals(error.code, "STORE_UNREACHABLE");
      assertMatch(error.message, fix);
      assertEquals(Deno.inspect(error).includes("Limited-Word"), false);
    }
  });
}

redisTest("a server without memory serves reads, but refuses a lock", async (server, open) => {
  await server.tell("CONFIG SET maxmemory 1");
  assertEquals(await open().read(patient()), undefined);
  const error = await rejection(open().lock(brief()));
  assertEquals(error.code, "STORE_UNREACHABLE");
  assertMatch(error.message, /accepts no writes at the moment; .* lacks memory/);
});

redisTest("the permissions in docs/clusters.md are sufficient", async (server) => {
  const page = await Deno.readTextFile(new URL("../../docs/clusters.md", import.meta.url));
  const rules = /\*\*Permissions on the server:\*\*\s+`([^`]+)`/.exec(page)?.[1] ?? "";
  const line = `ACL SETUSER worker on >Some-Word-1 ${rules.replaceAll(/\s+/g, " ")}`;
  assertMatch(await server.tell(line), /^\+OK/);
  const store = redisStore(server.url.replace("//", "//worker:Some-Word-1@").replace(/0$/, "1"));
  const lock = await store.lock(patient());
  await lock.write({ ACCESS_TOKEN: "a-token" }, patient());
  await lock[Symbol.asyncDispose]();
  assertEquals(await store.read(patient()), { ACCESS_TOKEN: "a-token" });
  assertEquals(await server.tell(`SELECT 1`), "+OK\r\n");
  // The lock was released, too.
  await (await store.lock(patient()))[Symbol.asyncDispose]();
});

const OK = "+OK\r\n";
/** Responses of a server that is not a Redis server: to a script, and to other commands. */
const ODD_REPLIES: Record<string, [toScript: string, toOthers: string]> = {
  "a number": [":5\r\n", OK],
  "two words": [`*2\r\n${OK.repeat(2)}`, OK],
  "deeply nested lists to a script": ["*1\r\n".repeat(50_000), OK],
  "deeply nested lists to every command": ["*1\r\n".repeat(50_000), "*1\r\n".repeat(50_000)],
  "HTTP": ["HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"],
};
for (const [what, [toScript, toOthers]] of Object.entries(ODD_REPLIES)) {
  Deno.test(`a server is not taken for Redis if it responds with ${what}`, async () => {
    let connections = 0;
    let enough = new AbortController();
    await using server = serveRaw(async (client) => {
      // The first request has been answered.
      if (++connections === 2) enough.abort();
      const decoder = new TextDecoder();
      for await (const chunk of client.readable) {
        const text = decoder.decode(chunk, { stream: true });
        const commands = text.match(/(?<=\*\d+\r\n\$\d+\r\n)[A-Z]+/g) ?? [];
        const replies = commands.map((name) => name === "EVAL" ? toScript : toOthers).join("");
        await client.write(new TextEncoder().encode(replies));
      }
    });
    const store = redisStore(server.origin.replace("http", "redis"));
    for (const request of requestsTo(store)) {
      connections = 0;
      enough = new AbortController();
      const error = await rejection(request(enough.signal));
      assertEquals(error.code, "STORE_UNREACHABLE");
      assertMatch(error.message, /not a Redis server; check that AUTH_STORE is the address of a/);
    }
  });
}

Deno.test("a request to a server that is down is repeated, with pauses, until its signal aborts", async () => {
  let attempts = 0;
  await using server = serveRaw(() => Promise.resolve(void attempts++));
  const store = redisStore(server.origin.replace("http", "redis"));
  assertEquals(await codeOf(store.read(AbortSignal.timeout(1_000))), "STORE_UNREACHABLE");
  assert(attempts > 2 && attempts < 30, `${attempts} attempts`);
  assertEquals(await codeOf(redisStore(`${LOCAL}:9`).lock(brief())), "STORE_UNREACHABLE");
});

/** Prints the code and the message with which a store fails in another process. */
const failing = (url: string) => `
  import { redisStore } from ${JSON.stringify(import.meta.resolve("../../src/redis/mod.ts"))};
  const store = redisStore(${JSON.stringify(url)});
  await store.read(AbortSignal.timeout(60_000)).catch(({ code, message }) => {
    console.log(code, message);
  });`;

Deno.test("the error of a store names the missing permission or the package that cannot be fetched", () =>
  inFolder(async (folder) => {
    const denied = await runScript(failing("rediss://store.example"), { cwd: folder });
    assertMatch(denied.stdout, /^PERMISSION .*--allow-net=store.example:6379 is missing/);
    const uncached = await runScript(failing(`${LOCAL}:9`), {
      cwd: folder,
      flags: ["--cached-only", "--allow-net=127.0.0.1:9", "--allow-env"],
      env: { DENO_DIR: `${folder}/empty` },
    });
    assertMatch(
      uncached.stdout,
      /^PACKAGE_UNAVAILABLE .*run `deno cache npm:@redis\/client@[\d.]+`/,
    );
  }));
