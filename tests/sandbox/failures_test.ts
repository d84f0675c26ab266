import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { callApi, fault, logIn, loginBody, refreshBody, sandboxAt, send } from "./requests.ts";

Deno.test("failure with a status answers in the shape of the system, so many times", async () => {
  const failures = [{ at: "token" as const, status: 503, times: 2 }];
  const { sandbox } = sandboxAt({ failures });
  await using _ = sandbox;
  for (const attempt of [1, 2]) {
    const answer = await send(sandbox, loginBody(sandbox));
    assertMatch(`${attempt} ${fault(answer)}`, /503 InternalErrorException/);
  }
  await logIn(sandbox);
  assertEquals(sandbox.requests.map((request) => request.status), [503, 503, 200]);
  assertEquals(failures[0]?.times, 2, "the caller's own list is not touched");
});

Deno.test("failure gives its own headers and body, and hits one system only", async () => {
  const { sandbox } = sandboxAt({
    failures: [{
      at: "api",
      status: 429,
      headers: { "retry-after": "7", "content-type": "text/html" },
      body: "<h1>busy</h1>",
    }],
  });
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const response = await callApi(sandbox, "/v1/stations", AccessToken);
  assertEquals([response.status, response.headers.get("retry-after")], [429, "7"]);
  assertEquals(await response.text(), "<h1>busy</h1>");
});

Deno.test("failure with an empty body alone is a 200 without content", async () => {
  const { sandbox } = sandboxAt({ failures: [{ at: "token", body: "" }] });
  await using _ = sandbox;
  const request = new Request(sandbox.authUrl, { method: "POST", body: "{}" });
  const response = await sandbox.handle(request);
  assertEquals([response.status, await response.text()], [200, ""]);
});

Deno.test("failures may be changed at any time and run in order", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  await logIn(sandbox);
  sandbox.failures.push({ at: "token", status: 500, times: 1 }, { at: "token", status: 429 });
  assertEquals((await send(sandbox, loginBody(sandbox))).status, 500);
  assertEquals((await send(sandbox, loginBody(sandbox))).status, 429);
  sandbox.failures.length = 0;
  await logIn(sandbox);
});

Deno.test('drop "before" loses the request, "during" only its answer', async () => {
  const { sandbox } = sandboxAt({ rotateRefreshTokens: true });
  await using _ = sandbox;
  const { RefreshToken } = await logIn(sandbox);
  const refresh = () => send(sandbox, refreshBody(sandbox, RefreshToken));
  sandbox.failures.push({ at: "token", drop: "before", times: 1 });
  await assertRejects(refresh, TypeError, "connection lost");
  sandbox.failures.push({ at: "token", drop: "during", times: 1 });
  await assertRejects(refresh, TypeError, "connection lost");
  assertMatch(fault(await refresh()), /has been revoked/);
  assertEquals(sandbox.requests.map((request) => request.status), [200, 0, 200, 400]);
});

Deno.test("delayMs ends with the caller's signal, and the request is not processed", async () => {
  const { sandbox } = sandboxAt({ failures: [{ at: "api", delayMs: 60_000, times: 1 }] });
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const stop = new AbortController();
  const call = callApi(sandbox, "/v1/stations", AccessToken, { signal: stop.signal });
  const refused = assertRejects(() => call, Error, "enough");
  stop.abort(new Error("enough"));
  await refused;
  assertEquals(sandbox.apiRequests[0]?.authorized, false);
});

Deno.test("close() ends what is being delayed", async () => {
  const { sandbox } = sandboxAt({ latencyMs: 60_000 });
  const waiting = assertRejects(() => logIn(sandbox), TypeError, "the sandbox is closed");
  await sandbox.close();
  await waiting;
  await assertRejects(() => logIn(sandbox), TypeError, "the sandbox is closed");
});

Deno.test("delayMs alone lets the request through", async () => {
  const { sandbox } = sandboxAt({ failures: [{ at: "token", delayMs: 1 }], latencyMs: 1 });
  await using _ = sandbox;
  assert((await logIn(sandbox)).AccessToken);
});
