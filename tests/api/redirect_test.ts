import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { ConfigError } from "../../mod.ts";
import { portless, type PortlessOptions, rejection, statusOf } from "../support/portless.ts";

/** A request as a server on a real port received it. */
interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly type: string | null;
  readonly body: string;
}

/** A server on a real port of loopback that notes what it gets. */
function listen(answer: (seen: Seen, count: number) => Response): AsyncDisposable & {
  origin: string;
  seen: Seen[];
} {
  const seen: Seen[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const one = {
      method: request.method,
      path: pathname + search,
      authorization: request.headers.get("authorization"),
      type: request.headers.get("content-type"),
      body: await request.text(),
    };
    seen.push(one);
    return answer(one, seen.length);
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const redirect = (status: number, location: string) =>
  new Response(null, { status, headers: { location } });

/** A session whose API is on real ports, while the provider is the sandbox without one. */
async function sessionOn(origin: string, more: PortlessOptions = {}) {
  const world = portless({
    ...more,
    session: { apiBaseUrl: origin, ...more.session },
    api: (request) => fetch(request),
  });
  await world.session.login();
  return world;
}

Deno.test("GET and HEAD follow to another origin without the header", async () => {
  await using files = listen(() => new Response("rows"));
  await using api = listen(() => redirect(302, `${files.origin}/f.csv?signature=s`));
  await using world = await sessionOn(api.origin);
  const answer = await world.session.authFetch("/download");
  assertEquals(await answer.text(), "rows");
  await world.session.authFetch("/download", { method: "HEAD" });
  await (await world.session.authFetch(new Request(`${api.origin}/download`))).text();
  assertEquals(files.seen.map((it) => it.method), ["GET", "HEAD", "GET"]);
  assertEquals(files.seen.map((it) => it.authorization), [null, null, null]);
  assert(api.seen.every((it) => it.authorization?.startsWith("bearer ")));
});

Deno.test("GET keeps the header on a redirect within its origin", async () => {
  await using api = listen(({ path }) =>
    path === "/old" ? redirect(301, "/new") : new Response("found")
  );
  await using world = await sessionOn(api.origin);
  assertEquals(await (await world.session.authFetch("/old")).text(), "found");
  assertEquals(api.seen[1]?.authorization, api.seen[0]?.authorization);
});

Deno.test("a 401 from where a redirect led to is no reason to refresh", async () => {
  await using files = listen(() => new Response("sign first", { status: 401 }));
  await using api = listen(() => redirect(307, `${files.origin}/f`));
  await using world = await sessionOn(api.origin);
  const answer = await world.session.authFetch("/download");
  assertEquals(answer.status, 401);
  assertEquals(await answer.text(), "sign first");
  const told = await rejection(world.session.fetchJson("/download"));
  assert(!told.message.includes("login("), told.message);
  assertEquals(world.refreshes(), 0);
});

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`a ${status} never sends a request with a body on to another origin`, async () => {
    await using other = listen(() => new Response("leaked"));
    await using api = listen(() => redirect(status, `${other.origin}/collect?q=hidden`));
    // Allowed or not: the body was meant for the first one.
    await using world = await sessionOn(api.origin, {
      session: { apiBaseUrl: api.origin, allowedOrigins: other.origin },
    });
    const url = `${api.origin}/upload`;
    const calls: [string | Request, RequestInit?][] = [
      [url, { method: "POST", body: "rows" }],
      [url, { method: "PUT", body: new Blob(["rows"]) }],
      [new Request(url, { method: "POST", body: "rows" })],
    ];
    for (const [input, init] of calls) {
      const error = await rejection(world.session.authFetch(input, init));
      assertInstanceOf(error, ConfigError);
      assertEquals(error.code, "UNTRUSTED_ORIGIN");
      assert(error.message.includes(other.origin), error.message);
      assert(!error.message.includes("hidden"), error.message);
    }
    assertEquals(other.seen, []);
  });
}

Deno.test("a 307 within the origin repeats method, header and body", async () => {
  await using api = listen(({ path }) =>
    path === "/a" ? redirect(307, "/b") : new Response("", { status: 201 })
  );
  await using world = await sessionOn(api.origin);
  const init = { method: "POST", body: "a,b\n1,2\n", headers: { "content-type": "text/csv" } };
  const forms = [init, { ...init, body: new Blob([init.body]) }];
  for (const one of forms) {
    assertEquals(await statusOf(world.session.authFetch("/a", one)), 201);
    const request = new Request(`${api.origin}/a`, one);
    assertEquals(await statusOf(world.session.authFetch(request)), 201);
  }
  const arrived = api.seen.filter((it) => it.path === "/b");
  assertEquals(arrived.length, 4);
  for (const it of arrived) {
    assertEquals([it.method, it.type, it.body], ["POST", "text/csv", init.body]);
    assertEquals(it.authorization, api.seen[0]?.authorization);
  }
});

Deno.test("a 303 within the origin is fetched with GET and the header", async () => {
  await using api = listen(({ path }) =>
    path === "/jobs" ? redirect(303, "/jobs/1") : new Response("done")
  );
  await using world = await sessionOn(api.origin);
  const init = {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  };
  const response = await world.session.authFetch("/jobs", init);
  assertEquals([await response.text(), response.redirected], ["done", true]);
  assertEquals(api.seen[1]?.method, "GET");
  assertEquals(api.seen[1]?.body, "");
  assertEquals(api.seen[1]?.type, null);
  assertEquals(api.seen[1]?.authorization, api.seen[0]?.authorization);
});

for (const status of [301, 302]) {
  Deno.test(`a ${status} within the origin turns POST into GET, and leaves PUT as it is`, async () => {
    await using api = listen(({ path }) =>
      path === "/a" ? redirect(status, "/b") : new Response("done")
    );
    await using world = await sessionOn(api.origin);
    const init = { body: "{}", headers: { "content-type": "application/json" } };
    for (const method of ["POST", "PUT"]) {
      await (await world.session.authFetch("/a", { method, ...init })).text();
      const request = new Request(`${api.origin}/a`, { method, ...init });
      await (await world.session.authFetch(request)).text();
    }
    const arrived = api.seen.filter(({ path }) => path === "/b")
      .map(({ method, type, body }) => `${method} ${type} ${body}`);
    const put = "PUT application/json {}";
    assertEquals(arrived, ["GET null ", "GET null ", put, put]);
    assertEquals(new Set(api.seen.map(({ authorization }) => authorization)).size, 1);
  });
}

Deno.test("after a redirect within the origin a Request's own signal still ends the call", async () => {
  const there = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  await using world = portless({
    api: async (request) => {
      if (request.url.endsWith("/a")) return redirect(307, "/b");
      there.resolve();
      request.signal.addEventListener("abort", () => over.resolve());
      await over.promise;
      throw request.signal.reason;
    },
  });
  await world.session.login();
  const controller = new AbortController();
  const init = { method: "POST", body: "rows", signal: controller.signal };
  const request = new Request("https://api.sandbox.example/a", init);
  const call = rejection(world.session.authFetch(request));
  await there.promise;
  controller.abort(new Error("enough"));
  assertEquals((await call).message, "enough");
  // Not only the wait of the caller: the request itself ends.
  await over.promise;
});

Deno.test("a 401 behind a redirect sends the whole call again as it was", async () => {
  for (const status of [303, 307]) {
    await using api = listen(({ path }, count) =>
      path === "/a" ? redirect(status, "/b") : new Response("", { status: count === 2 ? 401 : 201 })
    );
    await using world = await sessionOn(api.origin);
    const init = {
      method: "POST",
      body: '{"rows":2}',
      headers: { "content-type": "application/json" },
    };
    assertEquals(await statusOf(world.session.authFetch("/a", init)), 201);
    const [first, , second] = api.seen;
    assertEquals(second?.path, "/a");
    assertEquals(second?.method, "POST");
    assertEquals(second?.body, first?.body);
    assertEquals(second?.type, first?.type, `content type after a ${status}`);
    assert(second?.authorization !== first?.authorization);
    assertEquals(world.refreshes(), 1);
  }
});

Deno.test("a redirect of a stream within the origin is an error that says so", async () => {
  await using api = listen(() => redirect(307, "/b"));
  await using world = await sessionOn(api.origin);
  const body = new Blob(["rows"]).stream();
  const error = await rejection(world.session.authFetch("/a", { method: "POST", body }));
  assertInstanceOf(error, TypeError);
  assert(error.message.includes("stream"), error.message);
  assertEquals(api.seen.length, 1);
});

Deno.test("redirect: manual and error mean what they mean to fetch", async () => {
  await using api = listen(() => redirect(302, "/next"));
  await using world = await sessionOn(api.origin);
  for (const method of ["GET", "POST"]) {
    const answer = await world.session.authFetch("/a", { method, redirect: "manual" });
    assertEquals([answer.status, answer.headers.get("location")], [302, "/next"]);
    await answer.body?.cancel();
    const failed = world.session.authFetch("/a", { method, redirect: "error" });
    assertInstanceOf(await rejection(failed), TypeError);
  }
  assert(api.seen.every((it) => it.path === "/a"));
});

Deno.test("redirects without an end are an error", async () => {
  await using api = listen(() => redirect(307, "/again"));
  await using world = await sessionOn(api.origin);
  for (const init of [{}, { method: "POST", body: "x" }]) {
    const error = await rejection(world.session.authFetch("/a", init));
    assertInstanceOf(error, TypeError);
    assert(/redirect/i.test(error.message), error.message);
  }
});

Deno.test("a request to the provider follows no redirect", async () => {
  await using other = listen(() => new Response("leaked"));
  for (const status of [301, 302, 303, 307, 308]) {
    await using provider = listen(() => redirect(status, `${other.origin}/?q=hidden`));
    await using world = portless({
      session: { authUrl: provider.origin, fetch: globalThis.fetch },
    });
    const error = await rejection(world.session.login());
    assertEquals(error.code, "UNEXPECTED_RESPONSE");
    assert(error.message.includes("redirect"), error.message);
    assert(!error.message.includes("hidden"), error.message);
    assertEquals(provider.seen.length, 1);
  }
  assertEquals(other.seen, []);
});
