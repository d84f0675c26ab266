import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { displayPath } from "../../src/platform/paths.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";

/** A session on `https://api.example`. `reached` has every request that was sent. */
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
  "a host that ends alike": "https://evil-api.example/",
  "a host that starts alike": "https://api.example.evil.example/",
  "a subdomain": "https://sub.api.example/",
  "the parent domain": "https://example/",
  "another port": "https://api.example:8443/",
  "plain http": "http://api.example/",
  "a trailing dot": "https://api.example./",
  "a path that starts with //": "//evil.example/v1/stations",
  "a path of backslashes": "\\\\evil.example\\v1",
  "slash and backslash": "/\\evil.example/v1",
  "a scheme with backslashes": "https:\\\\evil.example\\",
  "a tab inside //": "/\t/evil.example/",
  "a new line inside //": "/\n/evil.example/",
  "user info that looks like the host": "https://api.example@evil.example/",
  "user info on the right host": "https://user:secret-word@api.example/",
  "a user name on the right host": "https://user@api.example/",
  "a look-alike in another script": "https://аpi.example/",
  "a full-width dot and another host": "https://api。evil.example/",
  "a host in the path": "https://evil.example/https://api.example/",
  "a host in the fragment": "https://evil.example#@api.example/",
  "an encoded host": "https://api.example%2eevil.example/",
  "data:": "data:text/plain,hello",
  "file:": "file:///etc/hostname",
  "file: with the host": "file://api.example/etc/hostname",
  "blob: of the right origin": "blob:https://api.example/4f0c0e0a-0000-4000-8000-000000000000",
  "javascript:": "javascript:alert(1)",
  "ws:": "wss://api.example/",
  "ftp:": "ftp://api.example/",
  "loopback that is not allowed": "http://127.0.0.1:9/",
  "IPv6 loopback that is not allowed": "http://[::1]:9/",
};

for (const [what, url] of Object.entries(REFUSED)) {
  Deno.test(`the token does not go to ${what}`, async () => {
    const { call, reached } = await closedSession();
    const error = await rejection(call(url));
    assertInstanceOf(error, ConfigError);
    assertEquals(error.code, "UNTRUSTED_ORIGIN");
    assert(!error.message.includes("secret-word"), "user info is not repeated");
    assertEquals(reached, []);
  });
}

Deno.test("an address that cannot be parsed is a TypeError", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["///evil.example/x", "https://", "http://[", "https://api.example:port/"]) {
    assertInstanceOf(await rejection(call(url)), TypeError, url);
  }
  assertEquals(reached, []);
});

Deno.test("the error for an untrusted address suggests the setting to add, or fetch()", async () => {
  const { call } = await closedSession();
  const { message } = await rejection(call("https://other.example/x?key=hidden-value"));
  assertMatch(message, /https:\/\/other\.example .*API_ALLOWED_ORIGINS.*use fetch\(\)/);
  assert(!message.includes("hidden-value"), message);
});

Deno.test("other spellings of the allowed origin are accepted", async () => {
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

Deno.test("the address of a URL or a Request is checked like a string", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["https://evil.example/", "http://api.example/", "data:,x"]) {
    assertEquals((await rejection(call(new URL(url)))).code, "UNTRUSTED_ORIGIN", url);
    assertEquals((await rejection(call(new Request(url)))).code, "UNTRUSTED_ORIGIN", url);
  }
  assertEquals(reached, []);
});

Deno.test("allowedOrigins is a list or a text with commas", async () => {
  const two = ["https://files.example", "https://b.example:8443/ignored/path"];
  for (const allowedOrigins of [two, two.join(", "), `${two.join(",")},`]) {
    const { call } = await closedSession({ allowedOrigins });
    for (const url of ["https://files.example/x", "https://b.example:8443/y", "/v1/x"]) {
      assertEquals((await call(url)).status, 200);
    }
    assertEquals((await rejection(call("https://b.example/y"))).code, "UNTRUSTED_ORIGIN");
  }
});

Deno.test("only loopback addresses can use http:", async () => {
  for (
    const base of [
      "http://127.0.0.1:8000",
      "http://localhost:8000",
      "http://[::1]:8000",
      "http://127.1:8000",
    ]
  ) {
    const { call } = await closedSession({ apiBaseUrl: base });
    assertEquals((await call("/x")).status, 200, base);
  }
  for (
    const base of [
      "http://api.example",
      // The runtime looks this name up in the DNS, so it can be the address of a stranger.
      "http://api.localhost",
      "http://0.0.0.0:8000",
      "http://192.168.0.1",
      "http://127.0.0.1.evil.example",
      "http://localhost.evil.example",
      "http://[::2]",
      "https://*.example",
      "https://user:pass@api.example",
      "api.example",
    ]
  ) {
    const { call } = await closedSession({ apiBaseUrl: base });
    const error = await rejection(call("/x"));
    assertEquals(error.code, "INVALID_SETTING", base);
    const { call: second } = await closedSession({ allowedOrigins: [base] });
    assertEquals((await rejection(second("/x"))).code, "INVALID_SETTING", base);
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

Deno.test("an origin that is added to the .env is allowed at the next call", async () => {
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

Deno.test("the API of an account that is new in the .env never receives the token of the old one", async () => {
  await using world = portless({ file: true, api: () => new Response("") });
  const { allowedOrigins: _, apiBaseUrl: __, clientId, ...open } = world.options;
  Deno.writeTextFileSync(world.envFile, `APP_CLIENT_ID=${clientId}\n`, { append: true });
  const session = createSession(open);
  await session.login();
  const lines = Deno.readTextFileSync(world.envFile).replace(/^APP_CLIENT_ID=.*$/m, "");
  const other = "APP_CLIENT_ID=other-client\nAPI_BASE_URL=https://other.example\n";
  Deno.writeTextFileSync(world.envFile, `${lines}${other}`);
  const error = await rejection(session.authFetch("https://other.example/x"));
  assertEquals(error.code, "NO_SESSION");
  assertEquals(world.called, []);
});

Deno.test("an untrusted address causes no refresh", async () => {
  await using world = await signedIn();
  world.clock.advance(3_000);
  const error = await rejection(world.session.authFetch("//evil.example"));
  assertEquals([error.code, world.refreshes()], ["UNTRUSTED_ORIGIN", 0]);
});

Deno.test("an authorization header of the caller is a TypeError", async () => {
  await using world = await signedIn();
  const own = "bearer my-own-token";
  const url = "https://api.sandbox.example/v1/x";
  const calls: [string | Request, RequestInit?][] = [
    ["/v1/x", { headers: { authorization: own } }],
    ["/v1/x", { headers: [["AUTHORIZATION", ""]] }],
    [new Request(url, { headers: { authorization: own } })],
    ["/v1/x", new Request("https://x.example/", { headers: { authorization: own } })],
  ];
  for (const [input, init] of calls) {
    const error = await rejection(world.session.authFetch(input, init));
    assertInstanceOf(error, TypeError);
    assert(!error.message.includes("my-own-token"), error.message);
  }
  assertEquals(world.called, []);
});
