/** How `authFetch()` adds the token, sends bodies, handles a 401, and reports failures. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { shownBy } from "../support/canaries.ts";
import { serveLocal } from "../support/local_server.ts";
import { portless, rejection, signedIn, statusOf } from "../support/portless.ts";
import { signedInAt } from "./on_port.ts";

Deno.test("authFetch() treats the path of API_BASE_URL as a folder, even without a final slash", async () => {
  for (const slash of ["", "/"]) {
    const apiBaseUrl = `https://api.sandbox.example/v1${slash}`;
    await using world = await signedIn({ session: { apiBaseUrl } });
    for (const path of ["stations", "/v1/stations"]) await world.session.authFetch(path);
    const authorization = `bearer ${await world.session.accessToken()}`;
    const call = { url: "https://api.sandbox.example/v1/stations", authorization };
    assertEquals(world.called, [call, call]);
  }
});

Deno.test("authFetch() never logs in by itself", async () => {
  await using world = portless();
  const error = await rejection(world.session.authFetch("/v1/stations"));
  assertEquals(error.code, "NO_SESSION");
  assert(error.message.includes("login()"), error.message);
  assertEquals([world.sent.length, world.called.length], [0, 0]);
});

Deno.test("authFetch() accepts headers in every form that fetch() accepts", async () => {
  await using world = await signedIn({
    api: ({ headers }) => Response.json(headers.get("x-mine")),
  });
  const pairs: [string, string][] = [["x-mine", "1"], ["X-Mine", "2"]];
  for (const headers of [pairs, new Headers(pairs), { "X-Mine": "1, 2" }]) {
    const answer = await world.session.authFetch("/v1/x", { headers });
    assertEquals(await answer.json(), "1, 2");
  }
});

const TEXT = "grüße, déjà vu\n".repeat(50);
const BYTES = new TextEncoder().encode(TEXT);
const form = new FormData();
form.append("note", TEXT);
form.append("file", new Blob([BYTES]), "rows.csv");

const bodies: [what: string, body: BodyInit][] = [
  ["string", TEXT],
  ["Uint8Array", BYTES],
  ["Blob", new Blob([BYTES], { type: "text/csv" })],
  ["FormData", form],
  ["URLSearchParams", new URLSearchParams({ note: TEXT })],
];
for (const [what, body] of bodies) {
  Deno.test(`authFetch() sends a ${what} again after a 401, as an option or in a Request`, async () => {
    const lengths: number[] = [];
    await using world = await signedIn({
      api: async (request) => {
        lengths.push((await request.bytes()).length);
        return new Response("", { status: lengths.length % 2 === 1 ? 401 : 201 });
      },
    });
    const { authFetch } = world.session;
    const init = { method: "POST", body };
    assertEquals((await authFetch("/v1/x", init)).status, 201);
    const request = new Request("https://api.sandbox.example/v1/x", init);
    assertEquals((await authFetch(request)).status, 201);
    const [first = 0] = lengths;
    assert(first >= BYTES.length, `${first}`);
    assertEquals(lengths, Array(4).fill(first));
  });
}

Deno.test("authFetch() does not send a stream again after a 401", async () => {
  await using world = await signedIn({ api: () => new Response("", { status: 401 }) });
  const init = { method: "POST", body: new Blob([TEXT]).stream() };
  assertEquals((await world.session.authFetch("/v1/uploads", init)).status, 401);
  assertEquals([world.called.length, world.refreshes()], [1, 0]);
});

Deno.test("authFetch() rejects an object as the body and suggests JSON.stringify()", async () => {
  await using world = await signedIn();
  const body = { text: "calm" } as unknown as BodyInit;
  const error = await rejection(world.session.authFetch("/v1/notes", { method: "POST", body }));
  assertEquals([error.name, world.called.length], ["TypeError", 0]);
  assertMatch(error.message, /body: JSON\.stringify/);
});

Deno.test("authFetch() returns a 403 or a 429 unchanged after a single request", async () => {
  for (const status of [403, 429]) {
    const headers = { "retry-after": "1" };
    await using world = await signedIn({ api: () => new Response("", { status, headers }) });
    const response = await world.session.authFetch("/v1/whoami");
    assertEquals([response.status, response.headers.get("retry-after")], [status, "1"]);
    assertEquals([world.called.length, world.refreshes()], [1, 0]);
  }
});

Deno.test("50 calls that receive a 401 at the same time cause one refresh", async () => {
  await using world = await signedIn();
  world.sandbox.expireAccessTokens();
  const statuses = await Promise.all(
    Array.from({ length: 50 }, () => statusOf(world.session.authFetch("/v1/whoami"))),
  );
  assertEquals(new Set(statuses), new Set([200]));
  assertEquals(world.refreshes(), 1);
});

Deno.test("authFetch() returns the 401 if the refresh fails, and later calls do not refresh that token", async () => {
  await using world = await signedIn();
  world.sandbox.expireAccessTokens();
  world.sandbox.failures.push({ at: "token", status: 503 });
  const answer = await world.session.authFetch("/v1/whoami");
  assertEquals(answer.status, 401);
  assertEquals((await answer.json()).error, "invalid_token");
  const tried = world.refreshes();
  assert(tried > 0);
  for (const seconds of [1, 40]) {
    world.clock.advance(seconds);
    assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  }
  assertEquals(world.refreshes(), tried);
});

Deno.test("the error of a custom fetch does not show the token", async () => {
  await using world = await signedIn({
    api: ({ headers }) => {
      throw Object.assign(new Error("mine"), { request: { headers } });
    },
  });
  const error = await rejection(world.session.authFetch("/v1/x?key=hidden"));
  assertEquals(error.code, "API_UNREACHABLE");
  assertMatch(error.message, /^Cannot reach https:\/\/api\.sandbox\.example\/v1\/x \(/);
  const shown = await shownBy(error);
  assertEquals(shown.includes(await world.session.accessToken()), false);
});

Deno.test("the error for a header that cannot be sent does not quote the header", async () => {
  await using world = await signedIn();
  for (const value of ["hidden\nvalue", "hidden \u2603"]) {
    const error = await rejection(
      world.session.authFetch("/v1/x", { headers: { "x-mine": value } }),
    );
    assertMatch(
      `${error}`,
      /^TypeError: (?!.*hidden).*a header whose name or value cannot be sent/s,
    );
  }
});

/** An API that rejects every token at one path. */
const closedPath = ({ url }: Request) =>
  new Response("", { status: url.endsWith("/closed") ? 401 : 200 });

Deno.test("a path that rejects every token causes one refresh in 30 seconds, even if other paths work", async () => {
  await using world = await signedIn({ api: closedPath });
  for (const refreshes of [1, 1, 2]) {
    assertEquals((await world.session.authFetch("/v1/closed")).status, 401);
    assertEquals((await world.session.authFetch("/v1/open")).status, 200);
    assertEquals(world.refreshes(), refreshes);
    world.clock.advance(16);
  }
});

Deno.test("status() says that a token is valid again once another path accepts it", async () => {
  await using world = await signedIn({ api: closedPath });
  await world.session.login({ portalToken: await world.sandbox.portalToken() });
  for (const [path, state] of [["/v1/closed", "rejected"], ["/v1/open", "valid"]] as const) {
    await world.session.authFetch(path);
    assertEquals(world.session.status().state, state);
  }
});

Deno.test("status() and the error of fetchJson() say why the refresh after a 401 failed", async () => {
  await using world = await signedIn({ file: true, api: () => new Response("", { status: 401 }) });
  const lines = Deno.readTextFileSync(world.envFile).replace(/^AUTH_SESSION=.*\n/m, "");
  Deno.writeTextFileSync(world.envFile, lines);
  const other = world.another({ userPoolId: "" });
  const error = await rejection(other.fetchJson("/v1/whoami"));
  assertEquals(error.code, "API_STATUS");
  const notice = other.status().notices.find(({ code }) => code === "REFRESH_FAILED");
  assertStringIncludes(notice?.problem ?? "", "missing USER_POOL_ID");
  assertStringIncludes(error.message, notice?.problem ?? "no notice");
  assertStringIncludes(error.message, notice?.fix ?? "no fix");
});

Deno.test("the caller's signal ends authFetch() while it waits for the response", async () => {
  const own = new AbortController();
  await using world = await signedIn({
    api: () => {
      own.abort(new Error("enough"));
      return new Promise(() => {});
    },
  });
  const call = world.session.authFetch("/v1/whoami", { signal: own.signal });
  assertEquals((await rejection(call)).message, "enough");
});

Deno.test("the caller's signal ends the reading of a body that stops arriving", async () => {
  const begun = () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(1)) }));
  await using server = serveLocal(begun);
  await using world = await signedInAt(server.origin);
  const own = new AbortController();
  const response = await world.session.authFetch("/v1/whoami", { signal: own.signal });
  own.abort(new Error("enough"));
  assertEquals((await rejection(response.text())).message, "enough");
});
