import { assertEquals, assertMatch } from "@std/assert";
import { newStoreKey } from "../../../src/redis/sealing.ts";
import { portless, rejection } from "../../support/portless.ts";
import { call, clusterTest, patient } from "./in_cluster.ts";

const credentials = (url: string, text: string) => url.replace("//", `//${text}@`);
const SAME = (url: string) => url;

/** Each problem of a server, the command that causes it, the address to use, and the message. */
const TROUBLES: [what: string, line: string, address: (url: string) => string, message: RegExp][] =
  [
    [
      "has a key of another type under the session's name",
      `EVAL "local key = redis.call('KEYS', '*')[1] redis.call('DEL', key) redis.call('SADD', key, 'x')" 0`,
      SAME,
      /: a key of this session belongs to another program; delete platform-auth:2:\{\S+\} and platform-auth:2:\{\S+\}:lock on the server, then log in again/,
    ],
    [
      "does not permit a command",
      "ACL SETUSER limited on >Limited-Word-1 ~* +get",
      (url) => credentials(url, "limited:Limited-Word-1"),
      /: it does not allow the user in AUTH_STORE to run a command that a session needs; grant this user the commands listed in docs\/clusters.md/,
    ],
    [
      "has no memory left",
      "CONFIG SET maxmemory 1",
      SAME,
      /: it accepts no writes at the moment; check in the server.s log whether the server is starting or lacks memory/,
    ],
    [
      "rejects the password",
      "ACL SETUSER limited on >Right-Word-1 ~* +@all",
      (url) => credentials(url, "limited:Limited-Word-1"),
      /; correct the user and the password in AUTH_STORE/,
    ],
    [
      "requires a password",
      "CONFIG SET requirepass Right-Word-1",
      SAME,
      /; correct the user and the password in AUTH_STORE/,
    ],
  ];
for (const [what, line, address, message] of TROUBLES) {
  clusterTest(`the error says that the store ${what}`, async ({ server, session, world }) => {
    await session().login();
    await server.tell(line);
    world.clock.advance(3_000);
    const { pauses } = world;
    const before = pauses.length;
    const error = await rejection(call(session({ store: address(server.url) })));
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, message);
    assertEquals(Deno.inspect(error).includes("Limited-Word"), false);
    if (what.includes("password")) assertEquals(pauses.length, before, "no further attempt");
  });
}

const RAISED = "record:gsub('^%d+', '9')";
/** Lua expressions for the record of another program; `record` begins with its number. */
const CHANGES = [
  "record:match('^%S+') .. ' no JSON'",
  `record:match('^%S+') .. ' {"ACCESS_TOKEN":"a-token","AUTH_SESSION":5}'`,
  "'else'",
  RAISED,
  // No later number would be accepted.
  "record:gsub('^%S+', '1000000000000000')",
  "record:gsub('^%S+', '99999999999999')",
];

clusterTest(
  "a session ignores a store record with another key or with another program's changes",
  async ({ server, session }) => {
    const reader = (storeKey?: string) => session(storeKey === undefined ? {} : { storeKey });
    const assertIgnored = async (storeKey?: string) => {
      const error = await rejection(call(reader(storeKey)));
      assertEquals(error.code, "NO_SESSION");
      assertMatch(
        error.message,
        /saved with another AUTH_STORE_KEY or by an earlier version, or was changed since, and is ignored; set the same key on all machines, or run/,
      );
    };
    await session().login();
    for (const storeKey of [newStoreKey(), ""]) await assertIgnored(storeKey);
    for (const change of CHANGES) {
      // Without encryption, nothing shows that the number was raised.
      for (const storeKey of change === RAISED ? [undefined] : [undefined, ""]) {
        await reader(storeKey).login({ force: true });
        const script = "local key = redis.call('KEYS', '*')[1] " +
          `local record = redis.call('GET', key) redis.call('SET', key, (${change}))`;
        await server.tell(`EVAL ${JSON.stringify(script)} 0`);
        await assertIgnored(storeKey);
      }
    }
    assertEquals((await session().login()).warnings, []);
    assertEquals(await call(session()), 200);
    // Other machines see the next changes.
    await session().refresh();
    await session().login({ force: true });
    const { accessToken } = session();
    assertEquals(await accessToken(), await session().accessToken());
  },
);

const OK = "+OK\r\n";
/** Responses of a server that is not a Redis server: to the script, and to other commands. */
const ODD_ANSWERS: Record<string, [toScript: string, toOthers: string]> = {
  "a word": [OK, OK],
  "four words": [`*4\r\n${OK.repeat(4)}`, OK],
  "a record that is not text": ["*4\r\n$3\r\n1.0\r\n*1\r\n+x\r\n:1\r\n:0\r\n", OK],
  "a time that is not a number": ["*4\r\n$3\r\n1.0\r\n+x\r\n+now\r\n:0\r\n", OK],
  "deep lists": ["*1\r\n".repeat(50_000), OK],
  "deep lists at once": ["*1\r\n".repeat(50_000), "*1\r\n".repeat(50_000)],
  "a list of a wrong length": ["*-7\r\n", OK],
  "no Redis protocol": ["HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"],
};
for (const [what, [toScript, toOthers]] of Object.entries(ODD_ANSWERS)) {
  Deno.test(`a server that answers with ${what} is reported as not a Redis server`, async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const answering = (async () => {
      for await (const client of listener) {
        (async () => {
          const decoder = new TextDecoder();
          for await (const chunk of client.readable) {
            const text = decoder.decode(chunk, { stream: true });
            const commands = text.match(/(?<=\*\d+\r\n\$\d+\r\n)[A-Z]+/g) ?? [];
            const answers = commands.map((name) => name === "EVAL" ? toScript : toOthers).join("");
            await client.write(new TextEncoder().encode(answers));
          }
        })().catch(() => {});
      }
    })();
    await using world = portless({ session: { timeout: patient } });
    const session = world.another({ store: `redis://127.0.0.1:${listener.addr.port}` });
    const error = await rejection(session.accessToken());
    listener.close();
    await answering;
    assertEquals(error.code, "STORE_UNREACHABLE", Deno.inspect(error));
    assertMatch(
      error.message,
      /: the server at this address is not a Redis server; check that AUTH_STORE is the address of a Redis \(6\.2 or later\) or Valkey server, and try again/,
    );
  });
}
