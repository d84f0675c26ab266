import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { callApi, fault, logIn, loginBody, sandboxAt, sandboxTest, send } from "./requests.ts";

Deno.test("a failure with a status responds in the format of the system, the given number of times", async () => {
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

sandboxTest("a failure responds with the given headers and body, and affects one system only", {
  failures: [{
    at: "api",
    status: 429,
    headers: { "retry-after": "7", "content-type": "text/html" },
    body: "<h1>busy</h1>",
  }],
}, async ({ sandbox }) => {
  const { AccessToken } = await logIn(sandbox);
  const response = await callApi(sandbox, "/v1/stations", AccessToken);
  assertEquals([response.status, response.headers.get("retry-after")], [429, "7"]);
  assertEquals(await response.text(), "<h1>busy</h1>");
});

sandboxTest("delayMs ends with the caller's signal, and the request is not processed", {
  failures: [{ at: "api", delayMs: 60_000, times: 1 }],
}, async ({ sandbox }) => {
  const { AccessToken } = await logIn(sandbox);
  const stop = new AbortController();
  const call = callApi(sandbox, "/v1/stations", AccessToken, { signal: stop.signal });
  const refused = assertRejects(() => call, Error, "enough");
  stop.abort(new Error("enough"));
  await refused;
  assertEquals(sandbox.apiRequests[0]?.authorized, false);
});
