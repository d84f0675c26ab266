/** How `authFetch()` adds the token, sends bodies, handles a 401, and reports failures. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { serveLocal } from "../support/local_server.ts";
import { portless, rejection, signedIn, statusOf } from "../support/portless.ts";
import { signedInAt } from "./on_port.ts";

const URL_OF_API = "https://api.sandbox.example/v1/uploads";

Deno.test("authFetch() treats the path of API_BASE_URL as a folder, even without a final slash", async () => {
  for (const slash of ["", "/"]) {
    await using world = await signedIn({
      session: { apiBaseUrl: `https://api.sandbox.example/v1${slash}` },
    });
    for (const path of ["stations", "./stations", "/v1/stations", "../v1/stations"]) {
      assertEquals((await world.session.authFetch(path)).status, 200);
    }
    const authorization = `bearer ${await world.session.accessToken()}`;
    const call = { url: "https://api.sandbox.example/v1/stations", authorization };
    assertEquals(world.called, Array(4).fill(call));
  }
});

Deno.test("authFetch() sends a Request with the options of the call, as fetch() does", async () => {
  let seen: Request | undefined;
  await using world = await signedIn({
    api: (request) => {
      seen = request;
      return new Response("ok");
    },
  });
  const init = { method: "PUT", headers: { "x-mine": "1" } };
  const request = new Request("https://api.sandbox.example/v1/y?z=1", init);
  await world.session.authFetch(request, { headers: { "x-other": "2" } });
  assertEquals([seen?.url, seen?.method], [request.url, "PUT"]);
  assertEquals([seen?.headers.get("x-mine"), seen?.headers.get("x-other")], [null, "2"]);
});

Deno.test("authFetch() never logs in by itself", async () => {
  await using world = portless();
  const error = await rejection(world.session.authFetch("/v1/stations"));
  assertEquals(error.code, "NO_SESSION");
  assert(error.message.includes("login()"), error.message);
  assertEquals([world.sent.length, world.called.length], [0, 0]);
});

Deno.test("authFetch() accepts headers in every form that fetch() accepts", async () => {
  let sent = new Headers();
  await using world = await signedIn({
    api({ headers }) {
      sent = headers;
      return new Response("ok");
    },
  });
  const pairs: [string, string][] = [["Accept", "a"], ["x-mine", "1"], ["X-Mine", " 2 "]];
  for (const form of [pairs, new Map(pairs), new Headers(pairs), { "X-Mine": 1 }, undefined]) {
    const headers = form as HeadersInit;
    await world.session.authFetch("/v1/x", { headers });
    const own = [...sent].filter(([name]) => name !== "authorization");
    assertEquals(own, [...new Request("https://api.example", { headers }).headers]);
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
  Deno.test(`authFetch() sends a ${what} body again after a 401`, async () => {
    const sent: string[] = [];
    await using world = await signedIn({
      api: async (request) => {
        const [type = "", boundary = ""] = request.headers.get("content-type")
          ?.split("boundary=") ?? [];
        sent.push(type + (await request.text()).replaceAll(boundary, ""));
        return new Response("", { status: sent.length === 1 ? 401 : 201 });
      },
    });
    const { status } = await world.session.authFetch("/v1/uploads", { method: "POST", body });
    assertEquals([status, sent], [201, [sent[0], sent[0]]]);
    assert((sent[0] ?? "").length >= TEXT.length);
    assertEquals(new Set(world.called.map(({ authorization }) => authorization)).size, 2);
  });
}

const MIB = 1024 * 1024;
const asRequest = (body: BodyInit) => [new Request(URL_OF_API, { method: "POST", body })] as const;
const asOption = (body: BodyInit) => [URL_OF_API, { method: "POST", body }] as const;
const streams: [
  what: string,
  typeof asRequest | typeof asOption,
  size: number,
  requests: number,
][] = [
  ["sends a Request with a stream again", asRequest, 3 * MIB, 2],
  ["does not send a Request with a stream of more than 64 MiB again", asRequest, 65 * MIB, 1],
  ["does not send a stream in the options again", asOption, 1, 1],
];
for (const [what, given, size, requests] of streams) {
  Deno.test(`authFetch() ${what} after a 401`, async () => {
    const sizes: number[] = [];
    await using world = await signedIn({
      api: async (request) => {
        sizes.push((await request.bytes()).length);
        return new Response("", { status: 401 });
      },
    });
    const [input, init] = given(ReadableStream.from([new Uint8Array(size)]));
    assertEquals((await world.session.authFetch(input, init)).status, 401);
    assertEquals([sizes, world.refreshes()], [Array(requests).fill(size), requests - 1]);
  });
}

Deno.test("authFetch() sends the body of a Request with its length, even after a 401", async () => {
  const lengths: (string | null)[] = [];
  await using server = serveLocal(async (request) => {
    lengths.push(request.headers.get("content-length"));
    await request.text();
    return new Response("", { status: lengths.length === 1 ? 401 : 201 });
  });
  await using world = await signedInAt(server.origin);
  const request = new Request(`${server.origin}/x`, { method: "POST", body: "four" });
  assertEquals(await statusOf(world.session.authFetch(request)), 201);
  assertEquals([lengths, request.bodyUsed], [["4", "4"], true]);
});

Deno.test("authFetch() rejects an object as the body and suggests JSON.stringify()", async () => {
  await using world = await signedIn();
  for (const body of [{ text: "calm" }, [1, 2]] as unknown as BodyInit[]) {
    const error = await rejection(world.session.authFetch("/v1/notes", { method: "POST", body }));
    assertEquals([error.name, world.called.length], ["TypeError", 0]);
    assertMatch(error.message, /body: JSON\.stringify/);
  }
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
  const inputs = ["/v1/whoami", new Request("https://api.sandbox.example/v1/whoami")];
  const statuses = await Promise.all(
    Array.from({ length: 50 }, (_, at) => statusOf(world.session.authFetch(inputs[at % 2] ?? ""))),
  );
  assertEquals(new Set(statuses), new Set([200]));
  assertEquals(world.refreshes(), 1);
});

Deno.test("a 401 causes no second refresh if another call has already refreshed the token", async () => {
  const late = Promise.withResolvers<void>();
  await using world = await signedIn({
    api: async (request, count) => {
      if (count === 1) await late.promise;
      const old = request.headers.get("authorization") === world.called[0]?.authorization;
      return new Response("", { status: old ? 401 : 200 });
    },
  });
  const first = world.session.authFetch("/v1/slow");
  assertEquals((await world.session.authFetch("/v1/quick")).status, 200);
  late.resolve();
  assertEquals((await first).status, 200);
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

Deno.test("authFetch() closes the connection of a 401 if the provider rejects the refresh token", async () => {
  let canceled = 0;
  await using world = await signedIn({
    api: () => new Response(new ReadableStream({ cancel: () => void canceled++ }), { status: 401 }),
  });
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "REFRESH_REJECTED");
  assertEquals(canceled, 1);
});

Deno.test("authFetch() passes on the error of a custom fetch, unless the error contains the token", async () => {
  let failure = new Error("no answer");
  await using world = await signedIn({
    api: (request) => {
      const { headers } = request;
      throw Object.assign(failure, failure.message === "mine" && { request: { headers } });
    },
  });
  assertEquals(await rejection(world.session.authFetch("/v1/x?key=1")), failure);
  failure = new Error("mine");
  const told = await rejection(world.session.authFetch("/v1/x?key=1"));
  assertEquals(
    told.message,
    "Cannot reach https://api.sandbox.example/v1/x (the request failed); check the address, the network and any proxy, then try again (help: platform-auth explain API_UNREACHABLE)",
  );
});

Deno.test("the error for a header that cannot be sent does not quote the header", async () => {
  await using world = await signedIn();
  const bad: HeadersInit[] = [
    { "x-mine": "hidden\nvalue" },
    { "x-mine": "hidden \u2603" },
    [["x-mine", "1", "hidden"]],
  ];
  for (const headers of bad) {
    const told = await rejection(world.session.authFetch("/v1/x", { headers }));
    assertInstanceOf(told, TypeError);
    assertMatch(told.message, /^(?!.*hidden).*a header whose name or value cannot be sent/s);
  }
  assertEquals(world.called, []);
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

Deno.test("a session keeps its access token after a refused refresh if the API accepted it in the latest call", async () => {
  await using world = await signedIn({ api: closedPath });
  world.sandbox.failures.push({ at: "token", status: 503 });
  assertEquals((await world.session.authFetch("/v1/closed")).status, 401);
  assertEquals((await world.session.authFetch("/v1/open")).status, 200);
  world.sandbox.failures.length = 0;
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(world.session.refresh())).code, "REFRESH_REJECTED");
  assertEquals((await world.session.authFetch("/v1/open")).status, 200);
  const { state, canRefresh } = world.session.status();
  assertEquals([state, canRefresh], ["valid", false]);
});

Deno.test("a token that the API rejected stays rejected if another process removes its refresh token", async () => {
  await using world = await signedIn({ file: true });
  const other = world.another();
  assertEquals(await statusOf(other.authFetch("/v1/whoami")), 200);
  world.sandbox.expireAccessTokens();
  world.sandbox.failures.push({ at: "token", status: 503 });
  assertEquals(await statusOf(world.session.authFetch("/v1/whoami")), 401);
  world.sandbox.failures.length = 0;
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(other.refresh())).code, "REFRESH_REJECTED");
  assertEquals(world.session.status().state, "rejected");
  await world.session.login();
  assertEquals(await statusOf(world.session.authFetch("/v1/whoami")), 200);
});

Deno.test("status() and the error of fetchJson() say why the refresh after a 401 failed", async () => {
  await using world = await signedIn({ file: true, api: () => new Response("", { status: 401 }) });
  const lines = Deno.readTextFileSync(world.envFile).replace(/^AUTH_SESSION=.*\n/m, "");
  Deno.writeTextFileSync(world.envFile, lines);
  const other = world.another({ userPoolId: "" });
  assertEquals((await other.authFetch("/v1/whoami")).status, 401);
  const notice = other.status().notices.find(({ code }) => code === "REFRESH_FAILED");
  assertStringIncludes(notice?.problem ?? "", "missing USER_POOL_ID");
  const error = await rejection(other.fetchJson("/v1/whoami"));
  assertEquals(error.code, "API_STATUS");
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
