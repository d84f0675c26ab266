import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { displayPath } from "../../src/files/paths.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";

/** A session on `https://api.example`. `reached` lists every request that was sent. */
async function closedSession(options: SessionOptions = {}) {
  await using world = portless({
    session: { apiBaseUrl: "https://api.example/v1/", allowedOrigins: "", ...options },
    api: () => new Response("reached"),
  });
  await world.session.login({ portalToken: await world.sandbox.portalToken() });
  return { call: world.session.authFetch, reached: world.called };
}

const REFUSED = {
  "another host": "https://evil.example/",
  "a host whose name ends like the API's": "https://evil-api.example/",
  "a host whose name starts like the API's": "https://api.example.evil.example/",
  "a subdomain": "https://sub.api.example/",
  "the parent domain": "https://example/",
  "another port": "https://api.example:8443/",
  "the API's host over http:": "http://api.example/",
  "the API's host with a trailing dot": "https://api.example./",
  "a path that starts with //": "//evil.example/v1/stations",
  "a path that starts with two backslashes": "\\\\evil.example\\v1",
  "a path that starts with a slash and a backslash": "/\\evil.example/v1",
  "another host after https: and backslashes": "https:\\\\evil.example\\",
  "a path with a tab inside //": "/\t/evil.example/",
  "a path with a new line inside //": "/\n/evil.example/",
  "another host after a user name that looks like the API's host":
    "https://api.example@evil.example/",
  "the API's host with a user name and a password": "https://user:secret-word@api.example/",
  "the API's host with a user name": "https://user@api.example/",
  "a look-alike of the API's host in another script": "https://аpi.example/",
  "another host whose name has a full-width dot after api": "https://api。evil.example/",
  "another host with the API's address in its path": "https://evil.example/https://api.example/",
  "another host with the API's host in its fragment": "https://evil.example#@api.example/",
  "another host whose name has an encoded dot after the API's host":
    "https://api.example%2eevil.example/",
  "a data: URL": "data:text/plain,hello",
  "a file: URL": "file:///etc/hostname",
  "a file: URL with the API's host": "file://api.example/etc/hostname",
  "a blob: URL of the API's origin":
    "blob:https://api.example/4f0c0e0a-0000-4000-8000-000000000000",
  "a javascript: URL": "javascript:alert(1)",
  "a WebSocket URL": "wss://api.example/",
  "an ftp: URL": "ftp://api.example/",
  "a loopback address that is not allowed": "http://127.0.0.1:9/",
  "an IPv6 loopback address that is not allowed": "http://[::1]:9/",
};

for (const [what, url] of Object.entries(REFUSED)) {
  Deno.test(`authFetch() does not send the token to ${what}`, async () => {
    const { call, reached } = await closedSession();
    const error = await rejection(call(url));
    assertInstanceOf(error, ConfigError);
    assertEquals(error.code, "UNTRUSTED_ORIGIN");
    assert(!error.message.includes("secret-word"), "user info is not repeated");
    assertEquals(reached, []);
  });
}

Deno.test("authFetch() throws a TypeError for an address that cannot be parsed", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["///evil.example/x", "https://", "http://[", "https://api.example:port/"]) {
    assertInstanceOf(await rejection(call(url)), TypeError, url);
  }
  assertEquals(reached, []);
});

Deno.test("a call to an untrusted address causes no refresh, and suggests API_ALLOWED_ORIGINS or fetch()", async () => {
  await using world = await signedIn();
  world.clock.advance(3_000);
  const call = world.session.authFetch("https://other.example/x?key=hidden-value");
  const { message } = await rejection(call);
  assertMatch(
    message,
    /https:\/\/other\.example .*API_ALLOWED_ORIGINS.*; for addresses that need no token, use fetch\(\)/,
  );
  assert(!message.includes("hidden-value"), message);
  assertEquals(world.refreshes(), 0);
});

Deno.test("authFetch() accepts other spellings of the API's address", async () => {
  const { call, reached } = await closedSession();
  const spellings = [
    "https://API.EXAMPLE/v1/x",
    "HTTPS://api.example:443/x",
    "https:api.example/x",
    "/v1/x",
    "x/../y",
    "?page=2",
    "//api.example/x",
    "https://ap%69.example/x",
  ];
  for (const url of spellings) assertEquals(await (await call(url)).text(), "reached", url);
  assertEquals(reached.length, spellings.length);
  for (const { url } of reached) assertEquals(new URL(url).origin, "https://api.example");
});

Deno.test("authFetch() checks a URL or a Request as strictly as a string", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["https://evil.example/", "http://api.example/", "data:,x"]) {
    assertEquals((await rejection(call(new URL(url)))).code, "UNTRUSTED_ORIGIN", url);
    assertEquals((await rejection(call(new Request(url)))).code, "UNTRUSTED_ORIGIN", url);
  }
  assertEquals(reached, []);
});

Deno.test("allowedOrigins can be a list or a comma-separated string", async () => {
  const two = ["https://files.example", "https://b.example:8443/ignored/path"];
  for (const allowedOrigins of [two, two.join(", "), `${two.join(",")},`]) {
    const { call } = await closedSession({ allowedOrigins });
    for (const url of ["https://files.example/x", "https://b.example:8443/y", "/v1/x"]) {
      assertEquals((await call(url)).status, 200);
    }
    assertEquals((await rejection(call("https://b.example/y"))).code, "UNTRUSTED_ORIGIN");
  }
});

const LOOPBACK = ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "127.1:8000"];
const UNUSABLE = [
  "http://api.example",
  // The runtime resolves this name with DNS, so it may lead to someone else's server.
  "http://api.localhost",
  "http://0.0.0.0:8000",
  "http://192.168.0.1",
  "http://127.0.0.1.evil.example",
  "http://localhost.evil.example",
  "http://[::2]",
  "https://*.example",
  "https://user:pass@api.example",
  "api.example",
];
Deno.test("apiBaseUrl and allowedOrigins accept http: only for loopback addresses", async () => {
  for (const host of LOOPBACK) {
    const { call } = await closedSession({ apiBaseUrl: `http://${host}` });
    assertEquals((await call("/x")).status, 200, host);
  }
  for (const url of UNUSABLE) {
    for (const setting of [{ apiBaseUrl: url }, { allowedOrigins: [url] }]) {
      const { call } = await closedSession(setting);
      assertEquals((await rejection(call("/x"))).code, "INVALID_SETTING", url);
    }
  }
});

Deno.test("the error for a path without API_BASE_URL names the .env in which to set it", async () => {
  await using world = portless({ file: true });
  const { apiBaseUrl: _, ...unset } = world.options;
  const session = createSession(unset);
  await session.login();
  const error = await rejection(session.authFetch("/v1/x"));
  assertEquals(error.code, "MISSING_SETTINGS");
  assert(error.message.includes(`set it in ${displayPath(world.envFile)}, in`), error.message);
});

Deno.test("an origin added to the .env is allowed from the next call on", async () => {
  await using world = portless({ file: true, api: () => new Response("") });
  const { allowedOrigins: _, ...open } = world.options;
  const session = createSession(open);
  await session.login();
  const url = "https://new.example/x";
  assertEquals((await rejection(session.authFetch(url))).code, "UNTRUSTED_ORIGIN");
  const lines = Deno.readTextFileSync(world.envFile);
  Deno.writeTextFileSync(world.envFile, `${lines}API_ALLOWED_ORIGINS=https://new.example\n`);
  assertEquals((await session.authFetch(url)).status, 200);
});

Deno.test("authFetch() throws a TypeError if the caller sets an authorization header", async () => {
  await using world = await signedIn();
  const own = "bearer my-own-token";
  const url = "https://api.sandbox.example/v1/x";
  const calls: [string | Request, RequestInit?][] = [
    ["/v1/x", { headers: { authorization: own } }],
    ["/v1/x", { headers: [["AUTHORIZATION", ""]] }],
    [new Request(url, { headers: { authorization: own } })],
  ];
  for (const [input, init] of calls) {
    const error = await rejection(world.session.authFetch(input, init));
    assertInstanceOf(error, TypeError);
    assert(!error.message.includes("my-own-token"), error.message);
  }
  assertEquals(world.called, []);
});
