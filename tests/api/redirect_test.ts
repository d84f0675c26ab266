import { assert, assertEquals, assertMatch } from "@std/assert";
import { rejection, signedIn } from "../support/portless.ts";
import type { ApiError, AuthError } from "../../mod.ts";
import { serveLocal } from "../support/local_server.ts";
import { signedInAt } from "./on_port.ts";

/** A request as a server received it. */
interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly cookie: string | null;
  readonly type: string | null;
  readonly body: string;
}

/** A server that records its requests. */
function listen(answer: (seen: Seen, count: number) => Response) {
  const seen: Seen[] = [];
  const server = serveLocal(async (request) => {
    const { method, url, headers } = request;
    const one = {
      method,
      path: new URL(url).pathname,
      authorization: headers.get("authorization"),
      cookie: headers.get("cookie"),
      type: headers.get("content-type"),
      body: await request.text(),
    };
    seen.push(one);
    return answer(one, seen.length);
  });
  return { ...server, seen };
}

const redirect = (status: number, location: string) =>
  new Response(null, { status, headers: { location } });

Deno.test("GET and HEAD follow a redirect to another origin without the token and cookies", async () => {
  await using files = listen(() => new Response("rows"));
  await using api = listen(() => redirect(302, `${files.origin}/f.csv?signature=s`));
  await using world = await signedInAt(api.origin);
  const answer = await world.session.authFetch("/download");
  assertEquals(await answer.text(), "rows");
  await world.session.authFetch("/download", { method: "HEAD", headers: { cookie: "mine=1" } });
  await (await world.session.authFetch(new Request(`${api.origin}/download`))).text();
  assertEquals(files.seen.map((it) => it.method), ["GET", "HEAD", "GET"]);
  assertEquals(files.seen.flatMap((it) => [it.authorization, it.cookie]), Array(6).fill(null));
  assert(api.seen.every((it) => it.authorization?.startsWith("bearer ")));
});

const within: [status: number, method: string, arrives: string][] = [
  [301, "POST", "GET"],
  [302, "PUT", "PUT"],
  [303, "POST", "GET"],
  [307, "POST", "POST"],
];
for (const [status, method, arrives] of within) {
  Deno.test(`a ${method} that is redirected with ${status} within the origin arrives as ${arrives}, and again after a 401`, async () => {
    await using api = listen(({ path }, count) =>
      path === "/a" ? redirect(status, "/b") : new Response("", { status: count === 2 ? 401 : 201 })
    );
    await using world = await signedInAt(api.origin);
    const init = { method, body: "a,b", headers: { "content-type": "text/csv" } };
    const response = await world.session.authFetch("/a", init);
    await response.body?.cancel();
    assertEquals([response.status, response.redirected], [201, true]);
    const sent = [method, "/a", "text/csv", "a,b"];
    const there = arrives === "GET" ? ["GET", "/b", null, ""] : [arrives, "/b", "text/csv", "a,b"];
    const seen = api.seen.map(({ method, path, type, body }) => [method, path, type, body]);
    assertEquals(seen, [sent, there, sent, there]);
    const [old, , renewed] = api.seen.map(({ authorization }) => authorization);
    assert(old !== renewed);
    assertEquals(api.seen.map((it) => it.authorization), [old, old, renewed, renewed]);
  });
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`authFetch() does not follow a ${status} to another origin if the request has a body`, async () => {
    await using other = listen(() => new Response("leaked"));
    await using api = listen(() => redirect(status, `${other.origin}/collect?q=hidden`));
    // This applies even to an allowed origin, because the user meant the body for the first one.
    await using world = await signedInAt(api.origin, { allowedOrigins: other.origin });
    const call = world.session.authFetch("/upload", { method: "POST", body: "rows" });
    const { code, message } = await rejection(call);
    assertEquals([code, other.seen], ["UNTRUSTED_ORIGIN", []]);
    assertEquals([message.includes(other.origin), message.includes("hidden")], [true, false]);
  });
}

/**
 * An API behind a TLS proxy whose redirect to the path with a slash leads over http:. The token is
 * lost there, and the API responds with 401.
 */
function losesToken({ url, headers }: Request): Response {
  const { protocol, pathname, host } = new URL(url);
  if (pathname === "/items") return redirect(307, `http://${host}/items/`);
  if (protocol === "http:") return redirect(307, `https://${host}${pathname}`);
  return new Response("", { status: headers.has("authorization") ? 200 : 401 });
}

Deno.test("a 401 does not count against the token if a redirect has dropped the token", async () => {
  for (const isPortal of [true, false]) {
    await using world = await signedIn({ api: losesToken });
    const { session, sandbox } = world;
    if (isPortal) await session.login({ portalToken: await sandbox.portalToken() });
    const error = await rejection(session.fetchJson("/items")) as ApiError;
    const hadToken = world.called.map(({ authorization }) => authorization !== "");
    assertEquals([hadToken, error.status], [[true, false, false], 401]);
    assertMatch(error.problem, /the API responded .*after a redirect to http:\/\/[^/]+, where/);
    assertMatch(error.fix, /^check API_BASE_URL and the path: /);
    assertEquals([world.refreshes(), session.status().state], [0, "valid"]);
  }
});

Deno.test("the error for a POST that is redirected to http: recommends checking the path", async () => {
  await using world = await signedIn({ api: losesToken });
  const call = world.session.authFetch("/items", { method: "POST", body: "rows" });
  const { code, fix } = await rejection(call) as AuthError;
  assertEquals([code, world.called.length], ["UNTRUSTED_ORIGIN", 1]);
  // The token and the body are sent over https: only, so the setting for origins cannot help.
  assertMatch(fix, /^check API_BASE_URL and the path: /);
});

Deno.test("if a redirect leads to a 401 or 403 of another host, the error names that host and recommends no login", async () => {
  for (const status of [401, 403]) {
    await using world = await signedIn({
      api: ({ url }) =>
        new URL(url).host === "files.example"
          ? new Response("no presigned-signature", { status })
          : redirect(302, "https://files.example/x?sig=presigned-signature"),
    });
    const { code, problem, fix } = await rejection(world.session.fetchJson("/x")) as ApiError;
    assertEquals([code, world.refreshes()], ["API_STATUS", 0]);
    assertMatch(problem, /because files\.example responded/);
    assertEquals([problem, fix].join().match(/presigned|login|permission/), null);
  }
});

Deno.test("the error of a second redirect does not show the path of the first target", async () => {
  await using world = await signedIn({
    api: ({ url }) => redirect(307, url.endsWith("/x") ? "/secret-path" : "https://b.example/y"),
  });
  const error = await rejection(world.session.authFetch("/x", { method: "PUT", body: "a" }));
  assertEquals(error.code, "UNTRUSTED_ORIGIN");
  assertEquals(error.message.includes("secret-path"), false);
});

Deno.test('authFetch() returns the redirect with redirect: "manual"', async () => {
  await using world = await signedIn({ api: () => redirect(302, "/next") });
  const answer = await world.session.authFetch("/a", { redirect: "manual" });
  assertEquals([answer.status, answer.headers.get("location")], [302, "/next"]);
});

const unusable: [what: string, location: string, why: RegExp][] = [
  ["an endless redirect", "/again", /too many redirects/],
  ["a redirect to a local file", import.meta.url, /address in its Location header/],
];
for (const [what, location, why] of unusable) {
  Deno.test(`authFetch() rejects ${what}`, async () => {
    await using world = await signedIn({ api: () => redirect(307, location) });
    const error = await rejection(world.session.authFetch("/a"));
    assertEquals(error.code, "API_UNREACHABLE");
    assertMatch(error.message, why);
  });
}
