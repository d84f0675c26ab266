import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { createPortal, type PortalBackend } from "../../../src/sandbox/portal/portal.ts";

const ORIGIN = "http://127.0.0.1:4300";
const SAME_SITE = { "sec-fetch-site": "same-origin" };
const HOUR_MS = 3_600_000;

type Portal = (request: Request) => Promise<Response>;

/** A portal with one user, "ada@school.example", whom the provider calls "u-1". */
function setUp(
  world: Partial<PortalBackend> = {},
): { portal: Portal; clock: { now: number }; attempts: string[] } {
  const clock = { now: Date.parse("2026-03-01T10:00:00Z") };
  const attempts: string[] = [];
  const portal = createPortal({
    authenticate(username, password) {
      attempts.push(username);
      const right = username === "ada@school.example" && password === "right";
      return Promise.resolve(right ? { ok: true, username: "u-1" } : { ok: false });
    },
    issueAccessToken: (username) =>
      Promise.resolve({
        accessToken: `token.for.${username}`,
        expiresAt: new Date(clock.now + 1800_000),
      }),
    authenticatorCode: (_username, secret = "own") =>
      secret === "bad" ? undefined : { code: `code of ${secret}`, secondsLeft: 12 },
    messages: () => [],
    now: () => clock.now,
    platformName: "Harbor <Data>",
    datasets: [{ name: "Tides & waves", description: "Made-up tides", path: "/v1/tides" }],
    apiUrl: "http://127.0.0.1:4400",
    ...world,
  });
  return { portal, clock, attempts };
}

function get(portal: Portal, path: string, cookie = "", origin = ORIGIN): Promise<Response> {
  return portal(new Request(`${origin}${path}`, { headers: { cookie } }));
}

function post(
  portal: Portal,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = SAME_SITE,
  origin = ORIGIN,
): Promise<Response> {
  const body = new URLSearchParams(fields);
  return portal(new Request(`${origin}${path}`, { method: "POST", headers, body }));
}

function cookieOf(response: Response): string {
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

async function signIn(portal: Portal): Promise<{ cookie: string; csrf: string; page: string }> {
  const fields = { username: "ada@school.example", password: "right" };
  const cookie = cookieOf(await post(portal, "/login", fields));
  const page = await (await get(portal, "/", cookie)).text();
  return { cookie, csrf: /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "", page };
}

Deno.test("the portal sends a visitor to the login page", async () => {
  const { portal } = setUp();
  const answer = await get(portal, "/");
  assertEquals([answer.status, answer.headers.get("location")], [303, "/login"]);
  const page = await (await get(portal, "/login")).text();
  assertMatch(page, /^<!DOCTYPE html>/);
  assertMatch(page, /<title>Sign in · Harbor &lt;Data&gt;<\/title>/);
  assertMatch(page, /autocomplete="username"/);
  assertMatch(page, /type="password" autocomplete="current-password"/);
  assertMatch(page, /Sandbox on this computer/);
});

Deno.test("every page of the portal forbids inline code, framing, sniffing and caching", async () => {
  const { portal } = setUp();
  const { cookie } = await signIn(portal);
  const wrong = await post(portal, "/login", { username: "x", password: "y" });
  const answers = [await get(portal, "/login"), await get(portal, "/", cookie), wrong];
  answers.push(await get(portal, "/nowhere"), await get(portal, "/logout"));
  answers.push(await get(portal, "/authenticator", cookie), await get(portal, "/messages", cookie));
  for (const answer of answers) {
    const policy = answer.headers.get("content-security-policy") ?? "";
    for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"]) {
      assert(policy.includes(rule), rule);
    }
    assert(policy.includes("base-uri 'none'") && !policy.includes("unsafe"));
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    assertEquals(answer.headers.get("cache-control"), "no-store");
    const page = await answer.text();
    assertEquals(/ style=|<style|<script(?![^>]*src=)|\son[a-z]+=|javascript:/.exec(page), null);
    for (const [, path = ""] of page.matchAll(/(?:src|href)="(\/assets[^"]*)"/g)) {
      assertEquals((await get(portal, path)).status, 200, path);
    }
    assertEquals(/(?:src|href|action)="(?!\/)/.exec(page), null);
  }
});

Deno.test("a right password starts a session in a cookie that scripts and other sites cannot use", async () => {
  const { portal } = setUp();
  const fields = { username: " ada@school.example ", password: "right" };
  const answer = await post(portal, "/login", fields);
  assertEquals([answer.status, answer.headers.get("location")], [303, "/"]);
  assertMatch(
    answer.headers.get("set-cookie") ?? "",
    /^portal-session-4300=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  const secure = await post(portal, "/login", fields, SAME_SITE, "https://portal.example");
  assertMatch(secure.headers.get("set-cookie") ?? "", /^portal-session-https=.*; Secure$/);
});

Deno.test("a wrong password is refused without a word about which half was wrong", async () => {
  const { portal } = setUp();
  const refuse = async (username: string): Promise<string> => {
    const answer = await post(portal, "/login", { username, password: "s3cret-typo" });
    assertEquals([answer.status, answer.headers.get("set-cookie")], [422, null]);
    return await answer.text();
  };
  const known = await refuse("ada@school.example");
  assertMatch(known, /<title>Sign-in failed/);
  assertMatch(known, /role="alert"/);
  assertMatch(known, /id="password"[^>]*autofocus/s);
  assertEquals(known.replaceAll("ada@school.example", "eve"), await refuse("eve"));
  assert(!known.includes("s3cret-typo"));
  const hostile = await refuse(`"><img src=x onerror=alert(1)>`);
  assert(hostile.includes(`value="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"`));
  assert(!hostile.includes("<img src=x"));
});

Deno.test("an empty field is not sent to the provider", async () => {
  const { portal, attempts } = setUp();
  const answer = await post(portal, "/login", { username: "", password: "right" });
  assertMatch(await answer.text(), /Enter your user name and your password/);
  assertEquals(attempts, []);
});

Deno.test("a lockout says how long to wait", async () => {
  for (
    const [lockedSeconds, text] of [[31.2, "32 seconds"], [600, "10 minutes"], [0, "1 second"]]
  ) {
    const locked = { ok: false, lockedSeconds: Number(lockedSeconds) } as const;
    const { portal } = setUp({ authenticate: () => Promise.resolve(locked) });
    const answer = await post(portal, "/login", { username: "ada", password: "right" });
    assertEquals(answer.status, 429);
    assertEquals(answer.headers.get("retry-after"), String(Math.ceil(Number(lockedSeconds)) || 1));
    assertMatch(await answer.text(), new RegExp(`Wait ${text}, then try again`));
  }
});

Deno.test("a form on another site can neither log in nor sign out nor get a token", async () => {
  const { portal, attempts } = setUp();
  const { cookie, csrf } = await signIn(portal);
  attempts.length = 0;
  const strangers: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site", origin: ORIGIN },
    { "sec-fetch-site": "same-site" },
    { origin: "http://evil.example" },
    { origin: "null" },
    {},
  ];
  for (const headers of strangers) {
    for (const path of ["/login", "/logout", "/token"]) {
      const fields = { username: "ada@school.example", password: "right", csrf };
      const all = { ...headers, cookie, "x-csrf-token": csrf };
      assertEquals((await post(portal, path, fields, all)).status, 403, path);
    }
  }
  assertEquals(attempts, []);
  assertEquals((await get(portal, "/", cookie)).status, 200);
  const old = { origin: ORIGIN }; // A browser that sends no Sec-Fetch-Site.
  assertEquals((await post(portal, "/login", { username: "a", password: "b" }, old)).status, 422);
});

Deno.test("the start page shows platform, user and data sets, and no token", async () => {
  const { portal } = setUp();
  const { page } = await signIn(portal);
  for (const text of ["Harbor &lt;Data&gt;", "Tides &amp; waves", "Made-up tides", "4400"]) {
    assert(page.includes(text), text);
  }
  assertMatch(page, /Signed in as <strong>ada@school\.example<\/strong>/);
  assertMatch(page, /aria-haspopup="menu"\s+aria-expanded="false"/);
  assert(page.indexOf("Copy Token") < page.indexOf("Sign out"));
  assertMatch(page, /await login\(.*\)\nawait fetchJson\(.*\)<\/code>/, "it ends in rows");
  assert(!page.includes("token.for"));
});

Deno.test("a token is issued to the provider's name, for the session's own script alone", async () => {
  const { portal } = setUp();
  const { cookie, csrf } = await signIn(portal);
  const ask = (headers: Record<string, string>): Promise<Response> =>
    post(portal, "/token", {}, { ...SAME_SITE, ...headers });
  assertEquals((await ask({ "x-csrf-token": csrf })).status, 401);
  assertEquals((await ask({ cookie })).status, 403);
  assertEquals((await ask({ cookie, "x-csrf-token": (await signIn(portal)).csrf })).status, 403);
  const answer = await ask({ cookie, "x-csrf-token": csrf });
  assertEquals(answer.headers.get("cache-control"), "no-store");
  assertEquals(await answer.json(), {
    text: "bearer token.for.u-1",
    expiresAt: "2026-03-01T10:30:00.000Z",
    secondsLeft: 1800,
  });
});

Deno.test("a sign-out ends the session on the server", async () => {
  const { portal } = setUp();
  const { cookie, csrf } = await signIn(portal);
  const unasked = await post(portal, "/logout", { csrf: "guess" }, { ...SAME_SITE, cookie });
  assertEquals(unasked.status, 403);
  const answer = await post(portal, "/logout", { csrf }, { ...SAME_SITE, cookie });
  assertEquals(answer.headers.get("location"), "/login?notice=signed-out");
  assertMatch(answer.headers.get("set-cookie") ?? "", /^portal-session-4300=;.*Max-Age=0$/);
  assertEquals((await get(portal, "/", cookie)).headers.get("location"), "/login?notice=ended");
  const headers = { ...SAME_SITE, cookie, "x-csrf-token": csrf };
  assertEquals((await post(portal, "/token", {}, headers)).status, 401);
  const page = await (await get(portal, "/login?notice=signed-out")).text();
  assertMatch(page, /You are signed out/);
});

Deno.test("a session ends after eight hours, and with the next login of its browser", async () => {
  const { portal, clock } = setUp();
  const { cookie } = await signIn(portal);
  clock.now += 8 * HOUR_MS - 1;
  assertEquals((await get(portal, "/", cookie)).status, 200);
  clock.now += 1;
  assertEquals((await get(portal, "/", cookie)).status, 303);

  const first = (await signIn(portal)).cookie;
  const fields = { username: "ada@school.example", password: "right" };
  const second = cookieOf(await post(portal, "/login", fields, { ...SAME_SITE, cookie: first }));
  assertNotEquals(second, first);
  assertEquals((await get(portal, "/", first)).status, 303);
  assertEquals((await get(portal, "/", `other=1; ${second}`)).status, 200);
  assertEquals((await get(portal, "/login", second)).headers.get("location"), "/");
});

Deno.test("an unknown address or method gets a page that says so", async () => {
  const { portal } = setUp();
  const missing = await get(portal, "/constructor");
  assertEquals(missing.status, 404);
  assertMatch(await missing.text(), /Page not found/);
  const wrongMethod = await get(portal, "/logout");
  assertEquals([wrongMethod.status, wrongMethod.headers.get("allow")], [405, "POST"]);
  assertMatch(await wrongMethod.text(), /This address answers POST only, not GET/);
  assertEquals((await post(portal, "/", {})).headers.get("allow"), "GET, HEAD");
  const head = await portal(new Request(`${ORIGIN}/login`, { method: "HEAD" }));
  assertEquals([head.status, await head.text()], [200, ""]);
});

Deno.test("a word of the address that the portal does not know means nothing, also one that every object has", async () => {
  const { portal } = setUp();
  const plain = await (await get(portal, "/login")).text();
  for (const word of ["other", "constructor", "toString", "__proto__"]) {
    assertEquals(await (await get(portal, `/login?notice=${word}`)).text(), plain, word);
    const answer = await portal(new Request(`${ORIGIN}/login`, { method: word }));
    assertEquals(answer.status, 405, word);
  }
});
