import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { displayPath } from "../../src/platform/paths.ts";
import { portless, rejection } from "../support/portless.ts";

/** A session on `https://api.example`. `reached` has the address of every request that was sent. */
async function closedSession(options: SessionOptions = {}): Promise<{
  call: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  reached: string[];
}> {
  const reached: string[] = [];
  await using world = portless({
    session: { apiBaseUrl: "https://api.example/v1/", ...options },
  });
  const session = world.another({
    fetch: (input, init) => {
      reached.push(new Request(input, init).url);
      return Promise.resolve(new Response("reached"));
    },
  });
  await session.login({ portalToken: await world.sandbox.portalToken() });
  return { call: session.authFetch, reached };
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

Deno.test("an address that cannot be parsed is a TypeError and is not sent", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["///evil.example/x", "https://", "http://[", "https://api.example:port/"]) {
    assertInstanceOf(await rejection(call(url)), TypeError, url);
  }
  assertEquals(reached, []);
});

Deno.test("a refusal shows the origin, the setting to add, and fetch()", async () => {
  const { call } = await closedSession();
  const { message } = await rejection(call("https://other.example/x?key=hidden-value"));
  assert(message.includes("https://other.example "), message);
  assert(message.includes("API_ALLOWED_ORIGINS"), message);
  assert(message.includes("use fetch() for addresses that need no token"), message);
  assert(!message.includes("hidden-value"), message);
  const plain = (await rejection(call("http://other.example/x"))).message;
  assert(plain.includes("use fetch() for addresses that need no token"), plain);
});

Deno.test("a refusal of user name or password in an address says to leave them out", async () => {
  const { call } = await closedSession();
  for (const user of ["ada", ":secret-word", "ada:secret-word"]) {
    const { message } = await rejection(call(`https://${user}@api.example/`));
    assert(message.includes("would replace the token; remove the user name and password"), message);
  }
});

Deno.test("other spellings of the allowed origin are the allowed origin", async () => {
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
  for (const url of reached) assertEquals(new URL(url).origin, "https://api.example");
});

Deno.test("URL objects and Requests are checked as strings are", async () => {
  const { call, reached } = await closedSession();
  for (const url of ["https://evil.example/", "http://api.example/", "data:,x"]) {
    assertEquals((await rejection(call(new URL(url)))).code, "UNTRUSTED_ORIGIN", url);
    assertEquals((await rejection(call(new Request(url)))).code, "UNTRUSTED_ORIGIN", url);
  }
  const post = new Request("https://evil.example/", { method: "POST", body: "rows" });
  assertEquals((await rejection(call(post))).code, "UNTRUSTED_ORIGIN");
  assertEquals(post.bodyUsed, false);
  assertEquals(reached, []);
});

Deno.test("further origins may be allowed, as a list or as text", async () => {
  const two = ["https://files.example", "https://b.example:8443/ignored/path"];
  for (const allowedOrigins of [two, two.join(", "), `${two.join(",")},`]) {
    const { call } = await closedSession({ allowedOrigins });
    for (const url of ["https://files.example/x", "https://b.example:8443/y", "/v1/x"]) {
      assertEquals((await call(url)).status, 200);
    }
    assertEquals((await rejection(call("https://b.example/y"))).code, "UNTRUSTED_ORIGIN");
  }
});

Deno.test("loopback may be plain http, other addresses may not", async () => {
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
      "http://0.0.0.0:8000",
      "http://192.168.0.1",
      "http://127.0.0.1.evil.example",
      "http://localhost.evil.example",
      "http://[::2]",
      "https://*.example",
      "https://user:pass@api.example",
      "file:///srv/api",
      "api.example",
    ]
  ) {
    const { call } = await closedSession({ apiBaseUrl: base });
    const error = await rejection(call("/x"));
    assertEquals(error.code, "INVALID_SETTING", base);
    assert(error.message.includes("API_BASE_URL"), error.message);
    const { call: second } = await closedSession({ allowedOrigins: [base] });
    assertEquals((await rejection(second("/x"))).code, "INVALID_SETTING", base);
  }
});

Deno.test("an internationalized host is allowed under both of its names", async () => {
  const { call } = await closedSession({ apiBaseUrl: "https://münchen.example" });
  for (const url of ["https://münchen.example/x", "https://xn--mnchen-3ya.example/x"]) {
    assertEquals((await call(url)).status, 200);
  }
  assertEquals((await rejection(call("https://munchen.example/x"))).code, "UNTRUSTED_ORIGIN");
});

for (const file of [false, true]) {
  Deno.test(`a relative path without a base says which setting is missing, ${file ? "and from which .env" : "without a .env"}`, async () => {
    await using world = portless({ file });
    const { apiBaseUrl: _, ...unset } = world.options;
    const session = createSession(unset);
    await session.login();
    const error = await rejection(session.authFetch("/v1/x"));
    assertEquals(error.code, "MISSING_SETTINGS");
    const place = file ? `in ${displayPath(world.envFile)}, ` : "";
    assert(error.message.includes(`set it ${place}in the environment`), error.message);
  });
}

Deno.test("an origin that was added to the .env while the session runs is taken", async () => {
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

Deno.test("an address of another account's API never gets the token of the account before", async () => {
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

Deno.test("the check comes before anything else: no session is needed, no refresh is made", async () => {
  await using world = portless();
  assertEquals((await rejection(world.session.authFetch("data:,x"))).code, "UNTRUSTED_ORIGIN");
  await world.session.login();
  world.clock.advance(3_000);
  assertEquals(
    (await rejection(world.session.authFetch("//evil.example"))).code,
    "UNTRUSTED_ORIGIN",
  );
  assertEquals(world.refreshes(), 0);
  assertEquals(world.called.length, 0);
});

Deno.test("a caller's own authorization header is a TypeError", async () => {
  await using world = portless();
  await world.session.login();
  const own = "bearer my-own-token";
  const url = "https://api.sandbox.example/v1/x";
  const calls: [string | Request, RequestInit?][] = [
    ["/v1/x", { headers: { authorization: own } }],
    ["/v1/x", { headers: { AUTHORIZATION: "" } }],
    ["/v1/x", { headers: [["Authorization", own]] }],
    ["/v1/x", { headers: new Headers({ authorization: own }) }],
    [new Request(url, { headers: { authorization: own } })],
    ["/v1/x", new Request("https://x.example/", { headers: { authorization: own } })],
  ];
  for (const [input, init] of calls) {
    const error = await rejection(world.session.authFetch(input, init));
    assertInstanceOf(error, TypeError);
    assert(!error.message.includes("my-own-token"), error.message);
  }
  assertEquals(world.called.length, 0);
});
