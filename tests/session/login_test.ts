import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";

Deno.test("login() with user name and password returns the status and saves the tokens in the .env", async () => {
  await using world = portless({ file: true });
  const status = await world.session.login();
  assertEquals(status.state, "valid");
  assertEquals(status.source, "password");
  assertEquals(status.username, world.options.username);
  assertEquals(status.clientId, world.options.clientId);
  assertEquals(status.provider, "https://identity-provider.sandbox.example");
  assertEquals(status.canRefresh, true);
  assertEquals(status.envFile, world.envFile);
  assertEquals(status.accessTokenExpiresAt, new Date(world.clock.now() + 1_800_000));
  assertEquals(status.refreshableUntil, new Date(world.clock.now() + 30 * 86_400_000));
  assertEquals(status.warnings, []);
  const lines = linesOf(world.envFile);
  assertEquals(Object.keys(lines).sort(), [
    "ACCESS_TOKEN",
    "ACCESS_TOKEN_EXPIRES_AT",
    "AUTHENTICATED_AT",
    "AUTH_SESSION",
    "REFRESH_TOKEN",
  ]);
  assertEquals(lines.ACCESS_TOKEN, await world.session.accessToken());
  assertEquals(lines.ACCESS_TOKEN_EXPIRES_AT, "2025-06-01T12:30:00.000Z");
  assertEquals(lines.AUTHENTICATED_AT, "2025-06-01T12:00:00.000Z");
  if (Deno.build.os !== "windows") {
    assertEquals((Deno.statSync(world.envFile).mode ?? 0) & 0o777, 0o600);
  }
});

Deno.test("login() keeps a valid session and sends nothing", async () => {
  await using world = await signedIn({ file: true });
  const token = await world.session.accessToken();
  await world.session.login();
  await world.session.login({});
  await world.session.login({ force: false });
  const next = world.another();
  assertEquals((await next.login()).source, "file");
  assertEquals(await next.accessToken(), token);
  assertEquals(world.sent.length, 1);
});

Deno.test("login() logs in again after another process has logged out", async () => {
  await using world = await signedIn({ file: true });
  const other = world.another();
  assertEquals((await other.login()).source, "file");
  await world.session.logout();
  assertEquals((await other.login()).source, "password");
  assertEquals(world.logins(), 2);
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
  const refusals = [
    ["InvalidParameterException", "Initiate Auth method not supported."],
    ["NotAuthorizedException", "Refresh Token has expired"],
    ["ForbiddenException", "no"],
  ] as const;
  for (const [name, message] of refusals) {
    await using world = await signedIn({
      provider: (sent) =>
        sent.flow === "USER_PASSWORD_AUTH"
          ? tokenAnswer({ AccessToken: jwt({}), RefreshToken: "r", ExpiresIn: 1800 })
          : errorAnswer(name, message),
    });
    world.clock.advance(3_000);
    assertEquals((await world.session.login()).source, "password", name);
    assertEquals(world.logins(), 2);
  }
});

Deno.test("login() with force, a strategy or credentials always sends the password", async () => {
  await using world = await signedIn();
  const { username = "", password = "" } = world.options;
  const wishes = [
    { force: true },
    { username },
    { password },
    { username, password },
    { strategy: "auto" },
    { strategy: "environment" },
    { strategy: "password" },
  ] as const;
  for (const [index, wish] of wishes.entries()) {
    await world.session.login(wish);
    assertEquals(world.logins(), index + 2, JSON.stringify(Object.keys(wish)));
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
    for (const given of ["secret\r", "secret\r\n", "\n secret \n\n", "se\ncret"]) {
      await login(world, given).catch(() => {});
      const sent = world.sent.at(-1)?.parameters.PASSWORD;
      assertEquals(sent, given.replace(/^\n|[\r\n]+$/g, ""));
    }
  });
}

Deno.test("a session from a portal string needs no provider settings and cannot be refreshed", async () => {
  await using world = portless();
  const { clientId: _, clientSecret: __, userPoolId: ___, authUrl: ____, ...rest } = world.options;
  const session = createSession(rest);
  world.clock.advance(1);
  const status = await session.login({ portalToken: await world.sandbox.portalToken() });
  assertEquals(status.state, "valid");
  assertEquals(status.source, "portal");
  assertEquals(status.canRefresh, false);
  assertEquals(status.refreshableUntil, undefined);
  assertEquals(status.username, "student");
  const [warning = ""] = status.warnings;
  assertMatch(warning, /cannot be refreshed.*\b30 min\b/);
  world.clock.advance(600);
  assertMatch(session.status().warnings.join(), /\b20 min\b/);
  assertEquals((await session.authFetch("/v1/whoami")).status, 200);
  assertEquals(world.sent.length, 0);
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

Deno.test("login() refuses an expired or incomplete portal string and changes nothing", async () => {
  await using world = await signedIn({ file: true });
  const before = Deno.readTextFileSync(world.envFile);
  const ended = await world.sandbox.portalToken();
  world.clock.advance(1_800);
  const refused: [string, RegExp][] = [
    ["", /empty/],
    [ended.slice(0, 40), /this is only the beginning of a token/],
    [ended, /expired .* ago by this computer's clock; .* correct the clock/],
  ];
  for (const [portalToken, reason] of refused) {
    const { code, message } = await rejection(world.session.login({ portalToken }));
    assertEquals(code, "INVALID_PORTAL_TOKEN");
    assertMatch(message, reason);
    assert(!message.includes(ended.slice(7, 40)), "the token is not repeated");
  }
  assertEquals(Deno.readTextFileSync(world.envFile), before);
  assertEquals(world.session.status().state, "refreshable");
});

Deno.test('login({ strategy: "environment" }) lists all missing settings and how to get them', async () => {
  const session = createSession({ envFile: false, fetch: () => Promise.reject(new Error("sent")) });
  const error = await rejection(session.login({ strategy: "environment" }));
  assertInstanceOf(error, ConfigError);
  assertEquals(error.code, "MISSING_SETTINGS");
  for (
    const name of ["AUTH_URL", "APP_CLIENT_ID", "APP_CLIENT_SECRET", "USER_POOL_ID", "PASSWORD"]
  ) assert(error.message.includes(name), `${name} is not in: ${error.message}`);
  assertMatch(error.message, /USERNAME\b/);
  assertMatch(error.message, /support channel/);
});

Deno.test("the error for missing settings suggests the .env or `init` only if that helps", async () => {
  await using world = portless();
  const { password: _, ...rest } = world.options;
  const { envFile } = world;
  const missing = async (options: SessionOptions) =>
    (await rejection(createSession(options).login({ strategy: "environment" }))).message;
  assertMatch(
    await missing({ ...rest, envFile }),
    /missing PASSWORD; set the missing values in \S+\.env, in the environment or as an/,
  );
  const inMemory = await missing(rest);
  const { clientId: __, ...others } = rest;
  const all = await missing({ ...others, envFile });
  assertMatch(
    all,
    /missing APP_CLIENT_ID, PASSWORD; .*; set the missing values in .*the support channel .*, then run platform-auth init/,
  );
  assertMatch(
    inMemory,
    /missing PASSWORD; set the missing values in the environment or as an option \(help/,
  );
  const { authUrl: ___, ...unplaced } = world.options;
  assertMatch(await missing(unplaced), /missing AUTH_URL; set/);
  assertMatch(
    await missing({ ...unplaced, provider: "aws" }),
    /missing AUTH_URL \(or AUTH_REGION\)/,
  );
});

Deno.test("a wrong password leaves the session and the .env unchanged", async () => {
  await using world = await signedIn({ file: true });
  const before = Deno.readTextFileSync(world.envFile);
  const error = await rejection(world.session.login({ password: "Wrong-Password-1" }));
  assertEquals(error.code, "INVALID_CREDENTIALS");
  assertEquals(world.logins(), 2, "a rejected password is not sent twice");
  assertEquals(world.session.status().state, "valid");
  assertEquals(Deno.readTextFileSync(world.envFile), before);
});

Deno.test("after a wrong password, a call uses the later login of another process", async () => {
  await using world = await signedIn({ file: true });
  const other = world.another();
  await other.logout();
  await rejection(world.session.login({ password: "Wrong-Password-1" }));
  await other.login();
  world.clock.advance(3_000);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
});

Deno.test("the error for an unknown strategy lists the valid strategies", async () => {
  await using world = portless();
  const strategy = "magic" as "auto";
  const { message } = await rejection(world.session.login({ strategy }));
  assertMatch(message, /auto, portal, password, environment as "strategy"/);
});
