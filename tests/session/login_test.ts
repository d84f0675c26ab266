import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { bareSession, writeLines } from "../support/bare_session.ts";
import { withOnly } from "../support/environment.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

Deno.test("login() with user name and password returns the status and saves the tokens in the .env", async () => {
  await using world = portless({ file: true });
  const now = world.clock.now();
  const status = await world.session.login();
  const { state, source, username, clientId, provider, canRefresh, envFile } = status;
  assertEquals([state, source, canRefresh, envFile], ["valid", "password", true, world.envFile]);
  assertEquals([username, clientId], [world.options.username, world.options.clientId]);
  assertEquals(provider, "https://identity-provider.sandbox.example");
  assertEquals(status.accessTokenExpiresAt, new Date(now + 1_800_000));
  assertEquals(status.refreshableUntil, new Date(now + 30 * 86_400_000));
  assertEquals(status.warnings, []);
  const { AUTH_SESSION, REFRESH_TOKEN, ...lines } = linesOf(world.envFile);
  assert(AUTH_SESSION && REFRESH_TOKEN);
  assertEquals(lines, {
    ACCESS_TOKEN: await world.session.accessToken(),
    ACCESS_TOKEN_EXPIRES_AT: "2025-06-01T12:30:00.000Z",
    AUTHENTICATED_AT: "2025-06-01T12:00:00.000Z",
  });
  if (Deno.build.os !== "windows") {
    assertEquals((Deno.statSync(world.envFile).mode ?? 0) & 0o777, 0o600);
  }
});

Deno.test("login() keeps a valid session and sends nothing, until another process logs out", async () => {
  await using world = await signedIn({ file: true });
  const token = await world.session.accessToken();
  await world.session.login();
  await world.session.login({ force: false });
  const other = world.another();
  assertEquals((await other.login()).source, "file");
  assertEquals(await other.accessToken(), token);
  assertEquals(world.sent.length, 1);
  await world.session.logout();
  assertEquals((await other.login()).source, "password");
});

Deno.test("login() sends no password if a refresh fails for a transient reason", async () => {
  await using world = await signedIn({ file: true });
  world.clock.advance(3_000);
  world.sandbox.failures.push({ at: "token", status: 503 });
  assertEquals((await rejection(world.session.login())).code, "SERVER_ERROR");
  assertEquals(world.logins(), 1);
  world.sandbox.failures.length = 0;
  assertEquals((await world.session.login()).source, "refresh");
  assertEquals(world.logins(), 1);
});

Deno.test("login() sends the password if the provider refuses the refresh for good", async () => {
  for (const refusal of ["NotAuthorizedException", "InvalidParameterException"]) {
    await using world = await signedIn();
    world.clock.advance(3_000);
    const body = JSON.stringify({ __type: refusal });
    world.sandbox.failures.push({ at: "token", status: 400, body, times: 1 });
    assertEquals((await world.session.login()).source, "password");
  }
});

Deno.test("login() with force, a strategy or credentials always sends the password", async () => {
  await using world = await signedIn();
  const { username = "", password = "" } = world.options;
  const wishes = [
    { force: true },
    { username, password },
    { strategy: "auto" },
  ] as const;
  for (const [index, wish] of wishes.entries()) {
    await world.session.login(wish);
    assertEquals(world.logins(), index + 2);
  }
});

Deno.test("login() never sends the configured password with another user name", async () => {
  await using world = portless({ session: { prompt: () => null } });
  const error = await rejection(
    world.session.login({ username: "grace", strategy: "environment" }),
  );
  assertEquals([error.code, world.sent], ["MISSING_SETTINGS", []]);
});

/** Passes a password to a login through one entrance. */
const entrances: Record<string, (world: Portless, password: string) => Promise<unknown>> = {
  "an option of the session": (world, password) => world.another({ password }).login(),
  "an option of login()": (world, password) => world.session.login({ password }),
  "the environment": (world, password) => {
    const variables = variablesOf(world.sandbox.settings);
    return withOnly({ ...variables, PASSWORD: password }, () => bareSession(world).login());
  },
  "the .env": (world, password) => {
    writeLines(world, { ...variablesOf(world.sandbox.settings), PASSWORD: `"${password}"` });
    return withOnly({}, () => bareSession(world).login());
  },
  "a prompt": (world, password) => {
    const { password: _, ...rest } = world.options;
    return createSession({ ...rest, prompt: () => password }).login({ strategy: "password" });
  },
};
for (const [entrance, login] of Object.entries(entrances)) {
  Deno.test(`a password from ${entrance} is sent without line breaks around it, but with its blanks`, async () => {
    await using world = portless({ file: true });
    await login(world, "\n sec\nret \r\n").catch(() => {});
    assertEquals(world.sent[0]?.parameters.PASSWORD, " sec\nret ");
  });
}

Deno.test("a session from a portal string needs no provider settings and cannot be refreshed", async () => {
  await using world = portless();
  const { clientId: _, clientSecret: __, userPoolId: ___, authUrl: ____, ...rest } = world.options;
  const session = createSession(rest);
  const portalToken = await world.sandbox.portalToken();
  const { state, source, canRefresh, username, warnings } = await session.login({ portalToken });
  assertEquals([state, source, canRefresh, username], ["valid", "portal", false, "student"]);
  assertMatch(warnings.join(), /cannot be refreshed.*\b30 min\b/);
  world.clock.advance(600);
  assertMatch(session.status().warnings.join(), /\b20 min\b/);
  assertEquals((await session.authFetch("/v1/whoami")).status, 200);
  world.clock.advance(1_201);
  assertEquals(session.status().state, "expired");
  for (const call of [session.refresh, () => session.authFetch("/v1/whoami")]) {
    assertEquals((await rejection(call())).code, "CANNOT_REFRESH");
  }
  assertEquals([world.called.length, world.sent], [1, []]);
});

Deno.test("a login with a portal string removes REFRESH_TOKEN and AUTHENTICATED_AT from the .env", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, "# mine\nOTHER=1\n");
  await world.session.login();
  const portalToken = await world.sandbox.portalToken();
  await world.session.login({ portalToken });
  const lines = linesOf(world.envFile);
  assertEquals(Object.keys(lines).sort(), ["ACCESS_TOKEN", "ACCESS_TOKEN_EXPIRES_AT", "OTHER"]);
  assertEquals(lines.ACCESS_TOKEN, portalToken.replace("bearer ", ""));
  assert(Deno.readTextFileSync(world.envFile).startsWith("# mine\nOTHER=1\n"));
});

Deno.test("a login that fails leaves the session and the .env unchanged", async () => {
  await using world = await signedIn({ file: true });
  const before = Deno.readTextFileSync(world.envFile);
  const portalToken = await world.sandbox.portalToken();
  world.clock.advance(1_800);
  const expired = await rejection(world.session.login({ portalToken }));
  assertEquals(expired.code, "INVALID_PORTAL_TOKEN");
  assertMatch(expired.message, /expired .* ago by this computer's clock; .* correct the clock/);
  const wrong = await rejection(world.session.login({ password: "Wrong-Password-1" }));
  assertEquals(wrong.code, "INVALID_CREDENTIALS");
  assertEquals(world.logins(), 2, "a rejected password is not sent twice");
  assertEquals(world.session.status().state, "refreshable");
  assertEquals(Deno.readTextFileSync(world.envFile), before);
});

const MISSING: [missing: (keyof SessionOptions)[], given: SessionOptions, said: RegExp][] = [
  [["clientId", "userPoolId"], {}, /missing APP_CLIENT_ID, USER_POOL_ID; .* support channel/],
  [["password"], { envFile: "here/.env" }, /missing PASSWORD; set the missing values in .+\.env/],
  [["authUrl"], { provider: "aws" }, /missing AUTH_URL \(or AUTH_REGION\)/],
];
for (const [missing, given, said] of MISSING) {
  Deno.test(`login() without ${missing} says what is missing and how to get it (${Object.keys(given)})`, async () => {
    await using world = portless();
    const options = { ...world.options, ...given };
    for (const name of missing) delete options[name];
    const error = await rejection(createSession(options).login({ strategy: "environment" }));
    assertEquals([error.code, world.sent], ["MISSING_SETTINGS", []]);
    assertMatch(error.message, said);
  });
}
