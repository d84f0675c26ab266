import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import { callApi, logIn, sandboxTest } from "./requests.ts";

/** Calls the API with a valid token. */
async function ask(sandbox: Sandbox, path: string, init: RequestInit = {}): Promise<Response> {
  const token = await sandbox.portalToken();
  return await callApi(sandbox, path, token.slice("bearer ".length), init);
}

sandboxTest("the API refuses a call without a valid access token and says why", {}, async ({
  sandbox,
}) => {
  const { AccessToken, IdToken } = await logIn(sandbox);
  const headers = { authorization: `BEARER ${AccessToken}` };
  assertEquals((await callApi(sandbox, "/v1/whoami", undefined, { headers })).status, 200);
  const cases: [authorization: string | undefined, message: RegExp, challenge: RegExp][] = [
    [undefined, /missing/, /^Bearer realm=/],
    [String(AccessToken), /the word bearer and the access token/, /invalid_request/],
    [`bearer bearer ${AccessToken}`, /contains bearer twice/, /invalid_request/],
    [`bearer ${IdToken}`, /not the IdToken/, /invalid_token/],
    [`bearer ${AccessToken}x`, /signature|not a signed token/, /invalid_token/],
  ];
  for (const [authorization, message, challenge] of cases) {
    const init = authorization === undefined ? {} : { headers: { authorization } };
    const response = await callApi(sandbox, "/v1/nothing-here", undefined, init);
    assertEquals(response.status, 401);
    assertMatch(response.headers.get("www-authenticate") ?? "", challenge);
    assertMatch((await response.json()).message, message);
  }
  assertEquals((await callApi(sandbox, "/health")).status, 200);
});

sandboxTest("the API refuses a token from the moment it expires", {
  accessTokenSeconds: 60,
}, async ({ sandbox, clock }) => {
  const { AccessToken } = await logIn(sandbox);
  clock.advance(59);
  assertEquals((await callApi(sandbox, "/v1/whoami", AccessToken)).status, 200);
  clock.advance(1);
  const { status, headers } = await callApi(sandbox, "/v1/whoami", AccessToken);
  assertEquals(status, 401);
  assertMatch(
    headers.get("www-authenticate") ?? "",
    /error_description="The access token expired"/,
  );
});

sandboxTest("each page of observations links to the next one", {}, async ({ sandbox }) => {
  let path: string | null =
    "/v1/stations/oak-valley/observations?from=2025-03-01&to=2025-03-03&limit=20";
  const times: string[] = [];
  while (path !== null) {
    const response: Response = await ask(sandbox, path);
    const page = await response.json();
    assertEquals([page.station, page.total, page.pages], ["oak-valley", 48, 3]);
    assertEquals(response.headers.has("link"), page.next !== null);
    times.push(...page.items.map((item: { time: string }) => item.time));
    path = page.next;
  }
  assertEquals([times.at(0), times.at(-1)], ["2025-03-01T00:00:00Z", "2025-03-02T23:00:00Z"]);
  assertEquals(new Set(times).size, 48);
});

sandboxTest("the error for a bad query for observations lists the valid parameters", {}, async ({
  sandbox,
}) => {
  const refused: [query: string, message: RegExp][] = [
    ["from=2025-02-30", /"from" must be a date such as/],
    ["limit=5001", /"limit" must be a whole number, 1 to 5000/],
    ["start=2025-06-01", /Unknown parameter "start"/],
  ];
  for (const [query, expected] of refused) {
    const response = await ask(sandbox, `/v1/stations/oak-valley/observations?${query}`);
    const { message } = await response.json();
    assertEquals(response.status, 400, query);
    assertMatch(message, expected);
    assertMatch(message, /(parameters are|use one of) from, to, limit, page/);
  }
});

sandboxTest(
  "a download redirects to a signed URL, which expires and accepts no token",
  {},
  async ({ sandbox, clock }) => {
    const redirect = await ask(sandbox, "/v1/stations/lake-meadow/download");
    const location = redirect.headers.get("location") ?? "";
    assertEquals([redirect.status, new URL(location).origin], [302, sandbox.portalUrl]);
    const open = (url: string, headers: HeadersInit = {}): Promise<Response> =>
      sandbox.handle(new Request(url, { headers }));
    const file = await open(location);
    assertEquals([file.status, (await file.text()).split("\n").length], [200, 8762]);
    assertEquals((await open(location, { authorization: "bearer x" })).status, 400);
    assertEquals((await open(location.replace("lake-meadow", "mill-plain"))).status, 403);
    clock.advance(300);
    assertEquals((await open(location)).status, 403);
  },
);
