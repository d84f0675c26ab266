import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Fault, type FaultProxy, startFaultProxy } from "../support/fault_proxy.ts";
import { bytesOf, readToEnd } from "../support/raw_http.ts";

interface Setting extends AsyncDisposable {
  proxy: FaultProxy;
  /** Bodies the target received. */
  received: string[];
  post(body: string, signal?: AbortSignal): Promise<string>;
}

async function start(keepAlive = false): Promise<Setting> {
  const received: string[] = [];
  const target = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const body = await request.text();
      received.push(body);
      return new Response(`echo ${body}`, { headers: { "x-seen": request.url.slice(-1) } });
    },
  );
  const proxy = await startFaultProxy({ target: target.addr, keepAlive });
  const client = Deno.createHttpClient({});
  return {
    proxy,
    received,
    async post(body, signal) {
      // A Blob, because Deno 2.7.7 to 2.9.5 sends a text again when the connection drops.
      const init = {
        method: "POST",
        body: new Blob([body]),
        client,
        ...(signal ? { signal } : {}),
      };
      return await (await fetch(proxy.url, init)).text();
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await proxy.close();
      await target.shutdown();
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 1));
}

Deno.test("startFaultProxy() passes requests and answers when nothing is planned", async () => {
  await using setting = await start();
  assertEquals(await setting.post("zoë 🌊"), "echo zoë 🌊");
  assertEquals(await setting.post("two"), "echo two");
  assertEquals(setting.received, ["zoë 🌊", "two"]);
  assertEquals(setting.proxy.counts, { connections: 2, requests: 2, judged: 2 });
});

Deno.test("startFaultProxy() keeps a connection open for more requests with keepAlive", async () => {
  await using setting = await start(true);
  assertEquals(await setting.post("one"), "echo one");
  assertEquals(await setting.post("two"), "echo two");
  assertEquals(setting.proxy.counts, { connections: 1, requests: 2, judged: 2 });
});

const failing: [Fault, reachesTarget: boolean, reason: RegExp][] = [
  ["resetBefore", false, /reset/],
  ["resetAfterRequest", true, /reset/],
  ["closeAfterRequest", true, /closed before message completed/],
  ["closeMidAnswer", true, /reading a body/],
];

for (const [fault, reachesTarget, reason] of failing) {
  Deno.test(`startFaultProxy() does ${fault} to one request and lets the next pass`, async () => {
    await using setting = await start();
    setting.proxy.plan(fault);
    const error = await assertRejects(() => setting.post("one"), TypeError);
    assertMatch(String(error.cause ?? error), reason);
    assertEquals(setting.received, reachesTarget ? ["one"] : []);
    assertEquals(setting.proxy.counts.judged, reachesTarget ? 1 : 0);
    assertEquals(await setting.post("two"), "echo two");
  });
}

for (const [fault, reachesTarget] of [["never", false], ["neverAfterRequest", true]] as const) {
  Deno.test(`startFaultProxy() does ${fault}: the client waits until it gives up`, async () => {
    await using setting = await start();
    setting.proxy.plan([fault, "pass"]);
    const leaving = new AbortController();
    const pending = setting.post("one", leaving.signal);
    await until(() => setting.proxy.counts[reachesTarget ? "judged" : "requests"] === 1);
    // By the time a later request is through, an answer to the first would have come.
    assertEquals(await setting.post("two"), "echo two");
    assertEquals(setting.received, reachesTarget ? ["one", "two"] : ["two"]);
    leaving.abort();
    await assertRejects(() => pending, DOMException);
  });
}

Deno.test("startFaultProxy() shows the status before it does closeMidAnswer", async () => {
  await using setting = await start();
  setting.proxy.plan("closeMidAnswer");
  const response = await fetch(setting.proxy.url, { method: "POST", body: "one" });
  assertEquals(response.status, 200);
  await assertRejects(() => response.text(), TypeError);
});

Deno.test("startFaultProxy() drips an answer that is whole in the end", async () => {
  await using setting = await start();
  setting.proxy.plan({ dripMs: 0 });
  const { body } = await fetch(setting.proxy.url, { method: "POST", body: "one" });
  const chunks = await Array.fromAsync(body ?? [], (chunk) => new TextDecoder().decode(chunk));
  assertEquals(chunks.join(""), "echo one");
  assert(chunks.length > 1, `${chunks.length} chunk arrived`);
});

Deno.test("startFaultProxy() refuses connections until it accepts again, on the same address", async () => {
  await using setting = await start();
  setting.proxy.refuse();
  const error = await assertRejects(() => setting.post("one"), TypeError);
  assertMatch(String(error.cause ?? error), /refused/);
  assertEquals(setting.proxy.counts.connections, 0);
  await setting.proxy.accept();
  assertEquals(await setting.post("two"), "echo two");
});

Deno.test("startFaultProxy() does the faults of a plan in their order", async () => {
  await using setting = await start();
  setting.proxy.plan(["pass", "resetBefore", "pass"]);
  assertEquals(await setting.post("one"), "echo one");
  await assertRejects(() => setting.post("two"), TypeError);
  assertEquals(await setting.post("three"), "echo three");
  assertEquals(setting.received, ["one", "three"]);
});

Deno.test("startFaultProxy() closes while an answer drips and another never comes", async () => {
  await using setting = await start();
  setting.proxy.plan([{ dripMs: 3_600_000 }, "never"]);
  const pending = [setting.post("one"), setting.post("two")];
  const ended = Promise.allSettled(pending);
  await until(() => setting.proxy.counts.requests === 2);
  await setting.proxy.close();
  assertEquals((await ended).map(({ status }) => status), ["rejected", "rejected"]);
});

Deno.test("startFaultProxy() ends a connection that its client holds on to", async () => {
  await using setting = await start();
  const port = Number(new URL(setting.proxy.url).port);
  using client = await Deno.connect({ hostname: "127.0.0.1", port });
  await client.write(new TextEncoder().encode("POST / HTTP/1.1\r\nhost: a\r\n\r\n"));
  const answer = await readToEnd(bytesOf(client));
  assertMatch(new TextDecoder().decode(answer), /^HTTP\/1.1 200 OK\r\n[^]*echo $/);
  await setting.proxy.close();
});
