/** The pages of the sandbox's portal. `tests/sandbox/browser` opens them in a browser. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { enter, respond } from "../identity_provider/steps.ts";
import { callApi, portalCookie, SAME_SITE, sandboxTest, signIn } from "../requests.ts";

const HOUR_SECONDS = 3600;

function get(sandbox: Sandbox, path: string, cookie = ""): Promise<Response> {
  return sandbox.handle(new Request(sandbox.portalUrl + path, { headers: { cookie } }));
}

function post(
  sandbox: Sandbox,
  path: string,
  headers: Record<string, string>,
  fields: Record<string, string> = {},
): Promise<Response> {
  const body = new URLSearchParams(fields);
  return sandbox.handle(new Request(sandbox.portalUrl + path, { method: "POST", headers, body }));
}

const placeOf = ({ status, headers }: Response) => `${status} ${headers.get("location")}`;

sandboxTest(
  "every page of the portal forbids inline code, framing, sniffing and caching",
  {},
  async ({ sandbox }) => {
    const cookie = await portalCookie(sandbox);
    const paths = ["/login", "/", "/nowhere", "/authenticator", "/messages"];
    const responses = await Promise.all(paths.map((path) => get(sandbox, path, cookie)));
    for (const response of [...responses, await signIn(sandbox, "x", "y")]) {
      const policy = response.headers.get("content-security-policy") ?? "";
      for (const name of ["default-src", "frame-ancestors", "base-uri"]) {
        assert(policy.includes(`${name} 'none'`), name);
      }
      assert(!policy.includes("unsafe"));
      assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      assertEquals(response.headers.get("cache-control"), "no-store");
      const page = await response.text();
      assertMatch(page, /^\s*<!DOCTYPE html>[^]*Sandbox on this computer/);
      assertEquals(/ style=|<style|<script(?![^>]*src=)|\son[a-z]+=|javascript:/.exec(page), null);
      for (const [, path = ""] of page.matchAll(/(?:src|href)="(\/assets[^"]*)"/g)) {
        assertEquals((await get(sandbox, path)).status, 200, path);
      }
      assertEquals(/\s(?:src|href|action)="(?!\/)/.exec(page), null);
    }
    assertEquals(responses.map(({ status }) => status), [200, 200, 404, 200, 200]);
  },
);

sandboxTest(
  "signing in to the portal sets a cookie that scripts and other sites cannot use",
  {},
  async ({ sandbox }) => {
    const { username, password } = sandbox.settings;
    const response = await signIn(sandbox, ` ${username} `, password);
    assertEquals(placeOf(response), "303 /");
    const cookie = response.headers.get("set-cookie") ?? "";
    assertMatch(
      cookie,
      /^portal-session-https=[\w-]{44}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
  },
);

sandboxTest(
  "the refusal of a wrong password does not reveal whether the user exists",
  {},
  async ({ sandbox }) => {
    const refuse = async (username: string): Promise<string> => {
      const response = await signIn(sandbox, username, "s3cret-typo");
      assertEquals([response.status, response.headers.get("set-cookie")], [422, null]);
      return await response.text();
    };
    const known = await refuse("student");
    assertMatch(known, /<title>Sign-in failed[^]*role="alert"[^]*id="password"[^>]*autofocus/);
    assertEquals(known.replaceAll('"student"', '"eve"'), await refuse("eve"));
    assert(!known.includes("s3cret-typo"));
    const hostile = await refuse(`"><img src=x onerror=alert(1)>`);
    assert(hostile.includes(`value="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"`));
  },
);

sandboxTest(
  "the portal and the token endpoint have the same users and lockout",
  { lockoutAfter: 1 },
  async ({ sandbox, clock }) => {
    const { username, password } = sandbox.settings;
    const ada = { username: "ada", password: "temporary", email: "ada@sandbox.example" };
    sandbox.addUser({ username: "new", password, status: "unconfirmed" });
    sandbox.addUser({ ...ada, status: "new-password-required" });
    const status = async (name: string, word: string) => (await signIn(sandbox, name, word)).status;
    assertEquals([await status("new", password), await status("ada", ada.password)], [422, 422]);
    await respond(sandbox, await enter(sandbox, ada), { NEW_PASSWORD: "Chosen-Entry-2" });
    assertEquals(await status("ada", "Chosen-Entry-2"), 303);
    assertEquals(await status(username, "wrong"), 422);
    const locked = await signIn(sandbox, username, password);
    assertEquals([locked.status, locked.headers.get("retry-after")], [429, "1"]);
    assertMatch(await locked.text(), /Wait 1 s, then try again/);
    clock.advance(1);
    assertEquals(await status(username, password), 303);
  },
);

sandboxTest(
  "a form on another site cannot change or read anything in the portal",
  {},
  async ({ sandbox }) => {
    const { username, password, apiBaseUrl } = sandbox.settings;
    const cookie = await portalCookie(sandbox);
    const strangers: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site", origin: sandbox.portalUrl },
      { "sec-fetch-site": "same-site" },
      { origin: apiBaseUrl },
      { origin: "null" },
      {},
    ];
    for (const headers of strangers) {
      for (const path of ["/login", "/logout", "/token", "/authenticator"]) {
        const response = await post(sandbox, path, { ...headers, cookie }, { username, password });
        assertEquals([response.status, response.headers.get("set-cookie")], [403, null], path);
      }
    }
    assertEquals((await get(sandbox, "/", cookie)).status, 200);
    // Some browsers do not send Sec-Fetch-Site, so the portal checks their Origin.
    const old = { origin: sandbox.portalUrl };
    assertEquals((await post(sandbox, "/login", old, { username, password })).status, 303);
  },
);

sandboxTest('"Copy Token" returns a token that the API accepts', {}, async ({ sandbox }) => {
  const { username } = sandbox.settings;
  assertEquals(placeOf(await post(sandbox, "/token", SAME_SITE)), "303 /login");
  const cookie = await portalCookie(sandbox);
  const page = await (await get(sandbox, "/", cookie)).text();
  assert(page.includes(`Signed in as <strong>${username}</strong>`));
  assert(page.indexOf("Copy Token") < page.indexOf("Sign out"));
  assertMatch(
    page,
    /await login\(.*\)\nawait fetchJson\(.*\)<\/code>/,
    "an example that ends in rows",
  );
  const response = await post(sandbox, "/token", { ...SAME_SITE, cookie });
  const { text, expiresAt } = await response.json();
  assertMatch(text, /^bearer [\w-]+\.[\w-]+\.[\w-]+$/);
  assert(Date.parse(expiresAt) > 0 && !page.includes(text.slice(-20)));
  const stations = await callApi(sandbox, "/v1/stations", text.slice("bearer ".length));
  assertEquals(stations.status, 200);
});

sandboxTest(
  "a portal session ends with a sign-out, with another login, or after eight hours",
  {},
  async ({ sandbox, clock }) => {
    const { username, password } = sandbox.settings;
    const place = async (cookie: string) => placeOf(await get(sandbox, "/", cookie));
    const cookie = await portalCookie(sandbox);
    const signedOut = await post(sandbox, "/logout", { ...SAME_SITE, cookie });
    assertEquals(placeOf(signedOut), "303 /login?notice=signed-out");
    assertMatch(signedOut.headers.get("set-cookie") ?? "", /^portal-session-https=;.*Max-Age=0/);
    assertEquals(await place(cookie), "303 /login?notice=ended");
    assertEquals(await place(""), "303 /login");
    const page = await get(sandbox, "/login?notice=signed-out");
    assertMatch(await page.text(), /You are signed out/);

    const first = await portalCookie(sandbox);
    clock.advance(8 * HOUR_SECONDS - 1);
    assertEquals(await place(first), "200 null");
    const second = await post(sandbox, "/login", { ...SAME_SITE, cookie: first }, {
      username,
      password,
    });
    const cookies = second.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    assertNotEquals(cookies, first);
    assertEquals([await place(first), await place(`other=1; ${cookies}`)], [
      "303 /login?notice=ended",
      "200 null",
    ]);
    clock.advance(8 * HOUR_SECONDS);
    assertEquals(await place(cookies), "303 /login?notice=ended");
  },
);
