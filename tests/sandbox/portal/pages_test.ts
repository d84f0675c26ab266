/** The pages of the sandbox's portal. `tests/sandbox/browser` opens them in a browser. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { enter, portalCookie, respond, SAME_SITE, sandboxTest, signIn } from "../requests.ts";

const HOUR_SECONDS = 3600;

function get(sandbox: Sandbox, path: string, cookie = ""): Promise<Response> {
  return sandbox.handle(new Request(sandbox.portalUrl + path, { headers: { cookie } }));
}

function post(
  sandbox: Sandbox,
  path: string,
  headers: Record<string, string>,
): Promise<Response> {
  const { username, password } = sandbox.settings;
  const body = new URLSearchParams({ username, password });
  return sandbox.handle(new Request(sandbox.portalUrl + path, { method: "POST", headers, body }));
}

const placeOf = ({ status, headers }: Response) => `${status} ${headers.get("location")}`;

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

sandboxTest("a form on another site cannot change or read anything in the portal", {}, async ({
  sandbox,
}) => {
  const cookie = await portalCookie(sandbox);
  const strangers: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site", origin: sandbox.portalUrl },
    { origin: sandbox.apiUrl },
  ];
  for (const headers of strangers) {
    for (const path of ["/login", "/logout", "/token", "/authenticator"]) {
      assertEquals((await post(sandbox, path, { ...headers, cookie })).status, 403, path);
    }
  }
  // Some browsers do not send Sec-Fetch-Site, so the portal checks their Origin.
  assertEquals((await post(sandbox, "/login", { origin: sandbox.portalUrl })).status, 303);
});

sandboxTest(
  "a portal session ends with a sign-out, with another login, or after eight hours",
  {},
  async ({ sandbox, clock }) => {
    const place = async (cookie: string) => placeOf(await get(sandbox, "/", cookie));
    const ended = "303 /login?notice=ended";
    const cookie = await portalCookie(sandbox);
    const signedOut = await post(sandbox, "/logout", { ...SAME_SITE, cookie });
    assertEquals(placeOf(signedOut), "303 /login?notice=signed-out");
    assertEquals([await place(cookie), await place("")], [ended, "303 /login"]);
    assertEquals(placeOf(await post(sandbox, "/token", { ...SAME_SITE, cookie })), ended);

    const first = await portalCookie(sandbox);
    const login = await post(sandbox, "/login", { ...SAME_SITE, cookie: first });
    const second = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    assertNotEquals(second, first);
    assertEquals([await place(first), await place(second)], [ended, "200 null"]);
    clock.advance(8 * HOUR_SECONDS);
    assertEquals(await place(second), ended);
  },
);
