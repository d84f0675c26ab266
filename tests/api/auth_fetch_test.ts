/**
 * The effect of `authFetch` on a call: the added token, the allowed addresses, redirects, a 401 and
 * failures on the way. The API is the sandbox, mostly without a port.
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { linesOf, portless, type PortlessOptions, rejection } from "../support/portless.ts";

const TEXT = "grüße, déjà vu\n".repeat(50);
const BYTES = new TextEncoder().encode(TEXT);

async function loggedIn(options: PortlessOptions = {}): Promise<ReturnType<typeof portless>> {
  const world = portless(options);
  await world.session.login();
  return world;
}

function stream(): ReadableStream<Uint8Array> {
  return new Blob([BYTES]).stream();
}

for (const slash of ["", "/"]) {
  Deno.test(`the path of API_BASE_URL is a folder, ${slash ? "with" : "without"} a slash at its end`, async () => {
    await using world = await loggedIn({
      session: { apiBaseUrl: `https://api.sandbox.example/v1${slash}` },
    });
    const token = await world.session.accessToken();
    for (const path of ["stations", "./stations", "/v1/stations", "../v1/stations"]) {
      const answer = await world.session.authFetch(path);
      assert(Array.isArray(await answer.json()));
    }
    await (await world.session.authFetch(new URL("https://api.sandbox.example/v1/stations")))
      .text();
    for (const call of world.called) {
      assertEquals(call.url, "https://api.sandbox.example/v1/stations");
      assertEquals(call.authorization, `bearer ${token}`);
    }
    assertEquals(world.called.length, 5);
    const told = await rejection(world.session.fetchJson("/stations"));
    assertMatch(
      told.message,
      /404 .*; check the path: with a leading slash, a path starts at the host; without, it continues \/v1\/ \(/,
    );
    const other = await rejection(world.session.fetchJson("nothing"));
    assertMatch(other.message, /404 .*; check the path \(/);
  });
}

Deno.test("the members of init are read by name, as fetch reads them", async () => {
  const seen: string[] = [];
  await using world = await loggedIn({
    api: async (request) => {
      seen.push(`${request.method} ${request.headers.get("x-mine")} ${await request.text()}`);
      return Response.json(1);
    },
  });
  class Options {
    get method() {
      return "PUT";
    }
    get body() {
      return "rows";
    }
    get headers() {
      return { "x-mine": "1" };
    }
  }
  const inherited = Object.create({ method: "PUT", body: "rows", headers: { "x-mine": "1" } });
  for (const init of [new Options(), inherited]) {
    await world.session.authFetch("/v1/x", init);
    const refused = await rejection(world.session.fetchJson("/v1/x", init));
    assertMatch(refused.message, /must be a plain object/);
  }
  assertEquals(seen, Array(2).fill("PUT 1 rows"));
});

Deno.test("authFetch() passes method, headers and body on as fetch does", async () => {
  let seen: Request | undefined;
  await using world = await loggedIn({
    api: (request) => {
      seen = request;
      return new Response("ok");
    },
  });
  const headers = { "x-mine": "1", "content-type": "application/json" };
  await world.session.authFetch("/v1/x", { method: "PATCH", headers, body: "{}" });
  assertEquals(seen?.method, "PATCH");
  assertEquals(seen?.headers.get("x-mine"), "1");
  assertEquals(seen?.headers.get("content-type"), "application/json");
  assertEquals(await seen?.text(), "{}");
  const request = new Request("https://api.sandbox.example/v1/y?z=1", {
    method: "PUT",
    headers,
    body: "whole",
  });
  await world.session.authFetch(request, { headers: { "x-other": "2" } });
  assertEquals(seen?.url, "https://api.sandbox.example/v1/y?z=1");
  assertEquals(seen?.method, "PUT");
  assertEquals(seen?.headers.get("x-mine"), null);
  assertEquals(seen?.headers.get("x-other"), "2");
  assertEquals(await seen?.text(), "whole");
  assertEquals(headers, { "x-mine": "1", "content-type": "application/json" });
});

Deno.test("authFetch() never logs in by itself", async () => {
  await using world = portless();
  const error = await rejection(world.session.authFetch("/v1/stations"));
  assertEquals(error.code, "NO_SESSION");
  assert(error.message.includes("login()"), error.message);
  assertEquals(world.sent.length, 0);
  assertEquals(world.called.length, 0);
});

const form = () => {
  const data = new FormData();
  data.append("note", TEXT);
  data.append("file", new Blob([BYTES]), "rows.csv");
  return data;
};

const BODIES: Record<string, () => BodyInit> = {
  string: () => TEXT,
  Uint8Array: () => BYTES,
  ArrayBuffer: () => BYTES.slice().buffer,
  DataView: () => new DataView(BYTES.slice().buffer, 3, 100),
  Blob: () => new Blob([BYTES], { type: "text/csv" }),
  FormData: form,
  URLSearchParams: () => new URLSearchParams({ note: TEXT }),
};

for (const [name, body] of Object.entries(BODIES)) {
  for (const asRequest of [false, true]) {
    const what = asRequest ? `a Request with a body of type ${name}` : `a body of type ${name}`;
    Deno.test(`after a 401 ${what} is sent again, whole`, async () => {
      const bodies: { type: string | null; fields: unknown }[] = [];
      await using world = await loggedIn({
        api: async (request, count) => {
          const type = request.headers.get("content-type");
          const fields = type?.startsWith("multipart/")
            ? await Promise.all(
              [...await request.formData()].map(async ([key, value]) =>
                typeof value === "string" ? [key, value] : [key, value.name, await value.text()]
              ),
            )
            : await request.text();
          bodies.push({ type: type?.split(";")[0] ?? null, fields });
          return new Response("", { status: count === 1 ? 401 : 201 });
        },
      });
      const init = { method: "POST", body: body() };
      const url = "https://api.sandbox.example/v1/uploads";
      const answer = asRequest
        ? await world.session.authFetch(new Request(url, init))
        : await world.session.authFetch(url, init);
      assertEquals(answer.status, 201);
      assertEquals(bodies.length, 2);
      assertEquals(bodies[1], bodies[0]);
      assert(JSON.stringify(bodies[0]?.fields).length > 50);
      assertEquals(world.refreshes(), 1);
      assert(world.called[0]?.authorization !== world.called[1]?.authorization);
    });
  }
}

Deno.test("after a 401 a request without body is sent again", async () => {
  await using world = await loggedIn();
  const calls: [string | Request, RequestInit?][] = [
    ["/v1/whoami"],
    ["/v1/whoami", { method: "HEAD" }],
    [new Request("https://api.sandbox.example/v1/whoami")],
  ];
  for (const [input, init] of calls) {
    world.sandbox.expireAccessTokens();
    assertEquals((await world.session.authFetch(input, init)).status, 200);
  }
  assertEquals(world.refreshes(), 3);
});

Deno.test("a stream is not sent again: its 401 comes back", async () => {
  await using world = await loggedIn();
  world.sandbox.expireAccessTokens();
  const answer = await world.session.authFetch("/v1/uploads", { method: "POST", body: stream() });
  assertEquals(answer.status, 401);
  assertEquals((await answer.json()).error, "invalid_token");
  assertEquals(world.refreshes(), 0);
  assertEquals(world.called.length, 1);
});

Deno.test("a Request that was read before is a TypeError, as with fetch", async () => {
  await using world = await loggedIn();
  const url = "https://api.sandbox.example/v1/uploads";
  const request = new Request(url, { method: "POST", body: TEXT });
  await request.text();
  assertInstanceOf(await rejection(world.session.authFetch(request)), TypeError);
  assertEquals(world.called.length, 0);
});

Deno.test("a 403 is never a reason to refresh", async () => {
  await using world = await loggedIn();
  const answer = await world.session.authFetch("/v1/admin/usage");
  assertEquals(answer.status, 403);
  await answer.body?.cancel();
  assertEquals(world.refreshes(), 0);
  assertEquals(world.called.length, 1);
});

Deno.test("concurrent 401s on a token cause one refresh", async () => {
  await using world = await loggedIn();
  world.sandbox.expireAccessTokens();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => world.session.authFetch("/v1/whoami")),
  );
  assertEquals(new Set(answers.map((answer) => answer.status)), new Set([200]));
  assertEquals(world.refreshes(), 1);
});

Deno.test("a 401 that arrives after others refreshed is sent again with their token", async () => {
  const late = Promise.withResolvers<void>();
  await using world = await loggedIn({
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

Deno.test("if the refresh after a 401 fails, the caller gets the 401, and each token is tried once", async () => {
  await using world = await loggedIn();
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

Deno.test("a 401 whose refresh is refused for good leaves no connection open", async () => {
  let canceled = 0;
  await using world = await loggedIn({
    api: () => new Response(new ReadableStream({ cancel: () => void canceled++ }), { status: 401 }),
  });
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "REFRESH_REJECTED");
  assertEquals(canceled, 1);
});

Deno.test("a 401 for a token that cannot be refreshed is returned unchanged", async () => {
  await using world = portless();
  await world.session.login({ portalToken: await world.sandbox.portalToken() });
  world.sandbox.expireAccessTokens();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals(world.called.length, 1);
  assertEquals(world.sent.length, 0);
});

Deno.test("a 401 takes the token that another process refreshed", async () => {
  await using world = await loggedIn({ file: true });
  const other = world.another();
  world.sandbox.expireAccessTokens();
  world.clock.advance(2);
  await other.refresh();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  assertEquals(world.refreshes(), 1);
});

Deno.test("aborting a call ends the call", async () => {
  const waiting = Promise.withResolvers<Response>();
  await using world = await loggedIn({ api: () => waiting.promise });
  const controller = new AbortController();
  const call = rejection(world.session.authFetch("/v1/x", { signal: controller.signal }));
  controller.abort(new Error("enough"));
  assertEquals((await call).message, "enough");
  waiting.resolve(new Response(""));
});

Deno.test("the error of a replaced fetch is passed on, but not with the token on it", async () => {
  let failure = new Error("no answer");
  await using world = await loggedIn({
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

Deno.test("the error for a header that cannot be sent omits its value", async () => {
  await using world = await loggedIn();
  const bad: HeadersInit[] = [{ "x-mine": "hidden\nvalue" }, [["x mine", "hidden"]], {
    "x-mine": "hidden \u2603",
  }, [["x-mine", "1", "hidden"]]];
  for (const headers of bad) {
    const told = await rejection(world.session.authFetch("/v1/x", { headers }));
    assertInstanceOf(told, TypeError);
    assert(told.message.includes("a header whose name or value cannot be sent"), told.message);
  }
  const headers = "hidden" as unknown as HeadersInit;
  const text = await rejection(world.session.authFetch("/v1/x", { headers }));
  assert(!text.message.includes("hidden"), text.message);
  assertEquals(world.called, []);
});

/** An API that rejects the token on one path only. */
const oneForbiddenPath = (request: Request) =>
  new Response("{}", { status: new URL(request.url).pathname === "/v1/closed" ? 401 : 200 });

Deno.test("after a 401 on one path, a success on another makes the token valid again", async () => {
  await using world = await loggedIn({ api: oneForbiddenPath });
  world.sandbox.failures.push({ at: "token", status: 503, times: 9 });
  assertEquals((await world.session.authFetch("/v1/closed")).status, 401);
  assertEquals((await world.session.authFetch("/v1/open")).status, 200);
  assertEquals(world.session.status().notices, []);
  const sent = world.logins();
  await world.session.login();
  assertEquals(world.logins(), sent, "login() keeps the session, and sends no password");
});

Deno.test("a refused refresh after a 401 on one path leaves the access token in use", async () => {
  const refusals = {
    vague: ["Not now", "401", "refreshable"],
    final: ["Refresh Token has been revoked", "REFRESH_REJECTED", "not refreshable"],
  } as const;
  for (const [message, outcome, left] of Object.values(refusals)) {
    await using world = await loggedIn({ api: oneForbiddenPath, file: true });
    const body = JSON.stringify({ __type: "NotAuthorizedException", message });
    world.sandbox.failures.push({ at: "token", status: 400, body });
    const call = world.session.authFetch("/v1/closed");
    assertEquals(await call.then(({ status }) => `${status}`, ({ code }) => code), outcome);
    assertEquals((await world.session.authFetch("/v1/open")).status, 200);
    const { state, canRefresh } = world.session.status();
    assertEquals([state, canRefresh], ["valid", left === "refreshable"]);
    const { ACCESS_TOKEN, REFRESH_TOKEN } = linesOf(world.envFile);
    assertEquals([ACCESS_TOKEN, REFRESH_TOKEN].map(Boolean), [true, left === "refreshable"]);
  }
});

Deno.test("if the refresh after a 401 fails, the status and fetchJson() say why", async () => {
  const causes: [string, PortlessOptions, string][] = [
    ["a missing setting", { session: { userPoolId: "" } }, "missing USER_POOL_ID"],
    ["a wrong address", { session: { authUrl: "http://elsewhere.example" } }, "AUTH_URL"],
    [
      "a SECRET_HASH",
      { session: { clientSecret: "another-client-secret-1", refreshSecretHash: "send" } },
      "SECRET_HASH",
    ],
  ];
  for (const [cause, { session }, words] of causes) {
    await using world = await loggedIn({
      file: true,
      api: () => new Response("", { status: 401 }),
    });
    const lines = Deno.readTextFileSync(world.envFile).replace(/^AUTH_SESSION=.*\n/m, "");
    Deno.writeTextFileSync(world.envFile, lines);
    const other = world.another(session);
    assertEquals((await other.authFetch("/v1/whoami")).status, 401, cause);
    const notice = other.status().notices.find(({ code }) => code === "REFRESH_FAILED");
    assertStringIncludes(notice?.problem ?? "", words);
    const error = await rejection(other.fetchJson("/v1/whoami"));
    assertEquals(error.code, "API_STATUS");
    assertStringIncludes(error.message, notice?.problem ?? "no notice");
    assertStringIncludes(error.message, notice?.fix ?? "no fix");
  }
});

Deno.test("a refresh by another process ends the notice of the one that failed", async () => {
  const rejected = new Set<string>();
  await using world = await loggedIn({
    file: true,
    api: (request) => {
      const isOld = rejected.has(request.headers.get("authorization") ?? "");
      return new Response("", { status: isOld ? 401 : 200 });
    },
  });
  rejected.add(`bearer ${await world.session.accessToken()}`);
  world.sandbox.failures.push({ at: "token", status: 503, times: 9 });
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  const codes = () => world.session.status().notices.map(({ code }) => code);
  assertEquals(codes(), ["REFRESH_FAILED"]);
  world.sandbox.failures.length = 0;
  world.clock.advance(31);
  await world.another().refresh();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  assertEquals(codes(), []);
});

Deno.test("an error of a program's own clock during a refresh after a 401 is thrown", async () => {
  await using world = await loggedIn({ api: () => new Response("", { status: 401 }), file: true });
  let isBroken = false;
  const now = () => {
    if (isBroken) throw new TypeError("a mistake");
    return world.clock.now();
  };
  const session = world.another({ now });
  assertEquals(session.status().state, "valid");
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await (world.options.fetch ?? globalThis.fetch)(input, init);
    isBroken = response.status === 401;
    return response;
  };
  const failing = world.another({ now, fetch });
  assertEquals((await rejection(failing.authFetch("/v1/whoami"))).message, "a mistake");
});
