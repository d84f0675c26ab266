import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { callApi, fault, logIn, loginBody, sandboxAt, sandboxTest, send } from "./requests.ts";

Deno.test("a simulated failure has the provider's format and ends after `times` requests", async () => {
  const failures = [{ at: "token" as const, status: 503, times: 2 }];
  const { sandbox } = sandboxAt({ failures });
  await using _ = sandbox;
  for (const attempt of [1, 2]) {
    const answer = await send(sandbox, loginBody(sandbox));
    assertMatch(`${attempt} ${fault(answer)}`, /503 InternalErrorException/);
  }
  await logIn(sandbox);
  assertEquals(sandbox.requests.map((request) => request.status), [503, 503, 200]);
  assertEquals(failures[0]?.times, 2, "the caller's list is unchanged");
});

sandboxTest("the sandbox does not process a delayed request that is aborted", {
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
