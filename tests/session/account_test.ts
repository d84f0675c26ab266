/** A session uses tokens only for the account that they belong to. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../mod.ts";
import { linesOf, portless, rejection, signedIn } from "../support/portless.ts";
import { jwt, tokenAnswer } from "../support/answers.ts";
import { inFolder } from "../support/child_deno.ts";

const OPAQUE = { AccessToken: "opaque-access", RefreshToken: "opaque-refresh", ExpiresIn: 1_800 };

Deno.test("another process finds the user name of the login in the .env and sends the same SECRET_HASH", async () => {
  await using world = portless({ file: true, provider: () => tokenAnswer(OPAQUE) });
  const username = "o'hara! ,:%ü@school.example";
  await world.session.login({ username, password: "A-Password-1" });
  const next = world.another();
  assertEquals(next.status().username, username);
  await world.session.refresh();
  await next.refresh();
  const hashes = world.sent.map(({ parameters }) => parameters.SECRET_HASH);
  assert(hashes[0] !== undefined && hashes.every((hash) => hash === hashes[0]));
});

for (const before of ["doctor()", "a refused call"]) {
  Deno.test(`a new APP_CLIENT_ID in the .env ends the session, even after ${before}`, async () => {
    await using world = portless({ file: true });
    const { clientId = "", apiBaseUrl: _, ...options } = world.options;
    Deno.writeTextFileSync(world.envFile, `APP_CLIENT_ID=${clientId}\n`);
    const session = createSession(options);
    await session.login();
    const text = Deno.readTextFileSync(world.envFile);
    const changed = "another\nAPI_BASE_URL=https://new.example";
    Deno.writeTextFileSync(world.envFile, text.replace(clientId, changed));
    if (before === "doctor()") await session.doctor();
    else await rejection(session.authFetch("https://elsewhere.example"));
    const error = await rejection(session.authFetch("https://new.example/v1/whoami"));
    assertEquals(error.code, "NO_SESSION");
    assert(world.called.every(({ authorization }) => authorization === ""));
  });
}

Deno.test("login() replaces a portal string that the API rejected", async () => {
  await using world = portless();
  await world.session.login({ portalToken: await world.sandbox.portalToken() });
  world.sandbox.expireAccessTokens();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals([world.called.length, world.sent.length], [1, 0], "nothing is refreshed");
  const { state, warnings } = world.session.status();
  assertEquals([state, warnings], ["rejected", []], "no warning about its remaining minutes");
  assertEquals((await world.session.login()).source, "password");
});

for (const order of ["before", "after"] as const) {
  Deno.test(`a 401 ${order} a refused refresh removes both tokens, so that the next login() logs in`, async () => {
    await using world = await signedIn({ file: true });
    const { session, sandbox } = world;
    const other = world.another();
    assertEquals(other.status().state, "valid");
    sandbox.expireAccessTokens();
    sandbox.revokeRefreshTokens();
    if (order === "after") await rejection(session.refresh());
    const error = await rejection(session.authFetch("/v1/whoami"));
    assertEquals(error.code, "REFRESH_REJECTED");
    const { state, canRefresh } = session.status();
    assertEquals([state, canRefresh, linesOf(world.envFile)], ["expired", false, {}]);
    // One process still has the tokens in memory. A new process has only the file.
    for (const next of [other, world.another()]) {
      assertEquals((await next.login()).state, "valid");
      assertEquals((await next.authFetch("/v1/whoami")).status, 200);
    }
    assertEquals(world.logins(), 2);
  });
}

const exp = 4_102_444_800;
const IN_A_FILE: [what: string, isOurs: boolean, text: string][] = [
  ["an opaque token", false, "ACCESS_TOKEN=ghp_another-programs-token"],
  ["an opaque token, and a setting", true, "ACCESS_TOKEN=a\nAPI_BASE_URL=https://api.example"],
  ["its expiry", true, "ACCESS_TOKEN=a\nACCESS_TOKEN_EXPIRES_AT=2099-01-01T00:00:00.000Z"],
  ["a JWT of a client", true, `ACCESS_TOKEN="bearer ${jwt({ sub: "a", exp, client_id: "b" })}"`],
];
for (const [what, isOurs, text] of IN_A_FILE) {
  Deno.test(`an ACCESS_TOKEN in the .env is ${isOurs ? "used" : "neither used nor removed"}: ${what}`, () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/.env`;
      const file = `${text}\nUSERNAME=someone\n`;
      await Deno.writeTextFile(envFile, file, { mode: 0o600 });
      const session = createSession({ envFile });
      const { source, username, notices: [notice] } = session.status();
      assertEquals(source, isOurs ? "file" : "none");
      if (isOurs) return assert(username !== "someone", "the settings do not name its user");
      assertMatch(notice?.problem ?? "", /another program and is ignored/);
      assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
      await session.logout();
      assertEquals(await Deno.readTextFile(envFile), file);
    }));
}

Deno.test("login() replaces a session if the settings contain the name of another user", async () => {
  await using world = portless({ file: true });
  const { username = "", password = "" } = world.options;
  world.sandbox.addUser({ username: "ada", password });
  await world.session.login();
  const other = world.another({ username: "ada", password });
  assertEquals(other.status().username, username);
  for (const _ of [1, 2]) assertEquals((await other.login()).username, "ada");
  assertEquals(world.logins(), 2);
});

Deno.test("login() keeps a session that was started with an alias of the user name", async () => {
  await using world = portless({ file: true, sandbox: { aliasSignIn: true } });
  await world.session.login();
  await world.another().login();
  assertEquals(world.logins(), 1);
});
