/** A session uses tokens only for the account that they belong to. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type Session } from "../../mod.ts";
import { cardHtml } from "../../src/show/card.ts";
import { statusView } from "../../src/show/status_view.ts";
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

Deno.test("a new APP_CLIENT_ID in the .env ends the session, even after doctor() or a refused call", async () => {
  for (const before of ["nothing", "doctor()", "a refused call"]) {
    await using world = portless({ file: true });
    const { clientId = "", apiBaseUrl = "", ...options } = world.options;
    const old = `APP_CLIENT_ID=${clientId}\nAPI_BASE_URL=${apiBaseUrl}\n`;
    Deno.writeTextFileSync(world.envFile, old);
    const session = createSession(options);
    await session.login();
    const text = Deno.readTextFileSync(world.envFile);
    const changed = "APP_CLIENT_ID=another\nAPI_BASE_URL=https://new.example\n";
    Deno.writeTextFileSync(world.envFile, text.replace(old, changed));
    if (before === "doctor()") await session.doctor();
    if (before === "a refused call") {
      await rejection(session.authFetch("https://elsewhere.example/v1/whoami"));
    }
    const called = world.called.length;
    const error = await rejection(session.authFetch("https://new.example/v1/whoami"));
    assertEquals(error.code, "NO_SESSION", before);
    assertEquals(world.called.length, called, "the token of the first account is not sent");
  }
});

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

Deno.test("a refresh that is refused after a 401 removes both tokens, so that the next login() logs in", async () => {
  await using world = await signedIn({ file: true });
  const other = world.another();
  assertEquals(other.status().state, "valid");
  world.sandbox.expireAccessTokens();
  world.sandbox.revokeRefreshTokens();
  for (let time = 0; time < 2; time++) {
    const error = await rejection(world.session.authFetch("/v1/whoami"));
    assertEquals(error.code, "REFRESH_REJECTED");
  }
  const status = world.session.status();
  assertEquals([status.state, status.canRefresh], ["expired", false]);
  assertMatch(Deno.inspect(status), /run login\(\)/);
  assertMatch(cardHtml(statusView(status)), /border-left:4px solid #d64545/, "the card is red");
  assertEquals(linesOf(world.envFile), {});
  // One process still has the tokens in memory. A new process has only the file.
  for (const session of [other, world.another()]) {
    assertEquals((await session.login()).state, "valid");
    assertEquals((await session.authFetch("/v1/whoami")).status, 200);
  }
  assertEquals(world.logins(), 2);
});

Deno.test("a 401 after a refresh that was refused removes the access token, so that the next login() logs in", async () => {
  await using world = await signedIn({ file: true });
  world.sandbox.expireAccessTokens();
  world.sandbox.revokeRefreshTokens();
  assertEquals((await rejection(world.session.refresh())).code, "REFRESH_REJECTED");
  const calls = [1, 2].map(() => rejection(world.session.authFetch("/v1/whoami")));
  for (const { code } of await Promise.all(calls)) assertEquals(code, "REFRESH_REJECTED");
  assertEquals([world.session.status().state, linesOf(world.envFile)], ["expired", {}]);
  const next = world.another();
  await next.login();
  assertEquals((await next.authFetch("/v1/whoami")).status, 200);
});

Deno.test("for an opaque token, status() does not show the user name from the settings", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, "ACCESS_TOKEN=somebodys-opaque-token\n");
  assertEquals(world.session.status().username, undefined);
  Deno.writeTextFileSync(world.envFile, `ACCESS_TOKEN=${jwt({ username: "grace" })}\n`);
  assertEquals(world.another().status().username, "grace");
});

/** Writes a `.env`, and opens a session that takes all settings from this file. */
async function withFile(text: string, use: (session: Session, file: string) => Promise<void>) {
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await Deno.writeTextFile(envFile, text, { mode: 0o600 });
    await use(createSession({ envFile }), envFile);
  });
}

Deno.test("the ACCESS_TOKEN of another program in the .env is neither used nor removed", async () => {
  for (const token of ["ghp_another-programs-token", jwt({ sub: "a", exp: 4_102_444_800 })]) {
    const text = `ACCESS_TOKEN=${token}\nUSERNAME=someone\n`;
    await withFile(text, async (session, file) => {
      const { state, source, notices } = session.status();
      assertEquals([state, source], ["none", "none"]);
      assertMatch(notices.map(({ problem }) => problem).join(), /another program and is ignored/);
      assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
      await session.logout();
      assertEquals(await Deno.readTextFile(file), text);
    });
  }
});

Deno.test("an ACCESS_TOKEN in the .env is used if a setting, its expiry or its claims show that it is the platform's", async () => {
  const exp = 4_102_444_800;
  for (
    const text of [
      "ACCESS_TOKEN=opaque\nAPI_BASE_URL=https://api.example\n",
      "ACCESS_TOKEN=opaque\nACCESS_TOKEN_EXPIRES_AT=2099-01-01T00:00:00.000Z\n",
      `ACCESS_TOKEN=${jwt({ sub: "a", exp, token_use: "access" })}\n`,
      `ACCESS_TOKEN="bearer ${jwt({ sub: "a", exp, client_id: "portal" })}"\n`,
    ]
  ) {
    await withFile(text, (session) => {
      assertEquals(session.status().source, "file", text);
      return Promise.resolve();
    });
  }
});

Deno.test("login() replaces a session if the settings contain the name of another user", async () => {
  await using world = portless({ file: true });
  const { username = "", password = "" } = world.options;
  world.sandbox.addUser({ username: "ada", password });
  await world.session.login();
  const other = world.another({ username: "ada", password });
  assertEquals(other.status().username, username);
  assertEquals((await other.login()).username, "ada");
  assertEquals((await other.login()).username, "ada");
  assertEquals(world.logins(), 2);
});

Deno.test("login() keeps a session that was started with an alias of the user name", async () => {
  await using world = portless({ file: true, sandbox: { aliasSignIn: true } });
  await world.session.login();
  await world.another().login();
  assertEquals(world.logins(), 1);
});
