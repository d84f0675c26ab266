/** The source of each setting, the precedence of sources, and the error for an invalid value. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { bareSession, writeLines } from "../support/bare_session.ts";
import { withOnly } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

const WORDS = { targetHeader: "X-Target", service: "Service", contentType: "text/plain" };

Deno.test("an option overrides the environment, which overrides the .env", async () => {
  await using world = portless();
  const fromFile = "https://file.example";
  writeLines(world, {
    APP_CLIENT_ID: "from-file",
    USER_POOL_ID: "from-file",
    AUTH_URL: fromFile,
    API_BASE_URL: fromFile,
  });
  const variables = {
    APP_CLIENT_ID: "from-environment",
    USER_POOL_ID: "from-environment",
    API_ALLOWED_ORIGINS: "https://environment.example",
    // An empty variable overrides nothing, but an option without origins does.
    API_BASE_URL: "",
  };
  await withOnly(variables, () => {
    const options = { clientId: " mine\n", provider: WORDS, allowedOrigins: [] };
    const { clientId, settings, provider } = bareSession(world, options).status();
    assertEquals([clientId, provider], ["mine", fromFile]);
    assertEquals(settings, {
      AUTH_URL: "file",
      AUTH_PROVIDER: "option",
      APP_CLIENT_ID: "option",
      USER_POOL_ID: "environment",
      API_BASE_URL: "file",
      API_ALLOWED_ORIGINS: "option",
    });
  });
});

Deno.test("USERNAME and PASSWORD are taken from the environment only as a pair", async () => {
  await using world = portless();
  const lines = variablesOf(world.sandbox.settings);
  writeLines(world, lines);
  const nameUsed = async (variables: Record<string, string>) =>
    await withOnly(variables, async () => {
      await bareSession(world).login({ force: true });
      return world.sent.at(-1)?.parameters.USERNAME;
    });
  assertEquals(await nameUsed({ USERNAME: "windows-user" }), lines.USERNAME);
  assertEquals(await nameUsed({ PASSWORD: "half" }), lines.USERNAME);
  const pair = { username: "grace", password: "Another-Password-1" };
  world.sandbox.addUser(pair);
  assertEquals(await nameUsed({ USERNAME: pair.username, PASSWORD: pair.password }), "grace");
});

Deno.test("the environment's password is not sent if an option or the .env has another user name", async () => {
  await using world = portless();
  const { USERNAME: _, PASSWORD = "", ...lines } = variablesOf(world.sandbox.settings);
  const pair = { username: "grace", password: "Another-Password-1" };
  world.sandbox.addUser(pair);
  const rivals: [options: SessionOptions, lines: Record<string, string>, other: string][] = [
    [{}, { USERNAME: "student" }, ".env"],
    [{ username: "student" }, { USERNAME: "mallory", PASSWORD }, "(the option username)"],
  ];
  await withOnly({ USERNAME: pair.username, PASSWORD: pair.password }, async () => {
    for (const [options, more, other] of rivals) {
      writeLines(world, { ...lines, ...more });
      for (const call of [{}, { force: true }]) {
        const { code, message } = await rejection(bareSession(world, options).login(call));
        assertEquals(code, "MISSING_SETTINGS");
        assertStringIncludes(message, `${other} and USERNAME in the environment differ`);
      }
    }
    writeLines(world, { ...lines, USERNAME: "student" });
    const session = bareSession(world);
    assertEquals((await rejection(session.login({ password: "x" }))).code, "MISSING_SETTINGS");
    assertEquals(world.sent.length, 0);
    // With one of the two names in the call, it is clear whose password is meant.
    assertEquals((await session.login({ username: "grace" })).username, "grace");
    // A different spelling is not another name.
    writeLines(world, { ...lines, USERNAME: "Grace" });
    assertEquals((await session.login({ force: true })).username, "grace");
  });
});

Deno.test("an empty client secret in any source means a public client", async () => {
  await using world = portless({ sandbox: { clientSecret: false } });
  const { APP_CLIENT_SECRET: _, ...others } = variablesOf(world.sandbox.settings);
  const login = (options: SessionOptions = {}) =>
    bareSession(world, options).login({ force: true });
  await withOnly({}, async () => {
    writeLines(world, { ...others, APP_CLIENT_SECRET: "" });
    await login();
    writeLines(world, others);
    assertMatch((await rejection(login())).message, /missing APP_CLIENT_SECRET/);
    await login({ clientSecret: "" });
  });
  await withOnly({ APP_CLIENT_SECRET: "" }, async () => {
    writeLines(world, { ...others, APP_CLIENT_SECRET: "not-this-one" });
    await login();
  });
  assertEquals(world.logins(), 3);
  for (const { parameters } of world.sent) assertEquals("SECRET_HASH" in parameters, false);
});

Deno.test("createSession() takes no store from the environment", async () => {
  await withOnly({ AUTH_STORE: "redis://127.0.0.1", AUTH_STORE_KEY: "k".repeat(43) }, () => {
    assertEquals(createSession().status().settings, { AUTH_STORE_KEY: "environment" });
  });
});

const invalid: [SessionOptions, RegExp][] = [
  [{ authUrl: "http://provider.example" }, /AUTH_URL.*https:/],
  [{ authUrl: "https://user:secret-word@provider.example" }, /AUTH_URL/],
  [{ clientSecret: "secret-word\u0000" }, /APP_CLIENT_SECRET/],
  [{ username: "secret-word\u001b[2J" }, /USERNAME/],
  [{ clientId: "two words" }, /APP_CLIENT_ID/],
  [{ portalUrl: "javascript:alert('secret-word')" }, /PORTAL_URL.*must be an https: address/],
  [{ portalUrl: "http://portal.example" }, /PORTAL_URL.*must be an https: address/],
  [{ provider: "other" as "aws" }, /AUTH_PROVIDER/],
  [{ provider: { ...WORDS, targetHeader: "X Target" } }, /AUTH_PROVIDER.*targetHeader/],
  [{ refreshSecretHash: "maybe" as "auto" }, /AUTH_REFRESH_SECRET_HASH/],
  [{ timeoutMs: 0 }, /AUTH_TIMEOUT_MS/],
];
Deno.test("a login with an invalid setting is refused before anything is sent", async () => {
  await using world = portless();
  for (const [options, words] of invalid) {
    const session = world.another(options);
    if (options.portalUrl) assertEquals(session.status().portalUrl, undefined);
    const error = await rejection(session.login());
    assertEquals(error.code, "INVALID_SETTING", JSON.stringify(options));
    assertMatch(error.message, words);
    assert(!error.message.includes("secret-word"), error.message);
  }
  assertEquals(world.sent.length, 0);
});

const shown: [apiBaseUrl: string, words: string][] = [
  ["api.example.com", '(the option apiBaseUrl): "api.example.com" must be an https: address'],
  ["https://ada:hun/ter2@api.example.com/v1?key=hunter2", '"https://api.example.com/v1" must'],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln", "(the option apiBaseUrl): it must"],
];
Deno.test("the error for an invalid API_BASE_URL shows its source, and the value without secrets", async () => {
  await using world = portless();
  const message = async (options?: SessionOptions) =>
    (await rejection(bareSession(world, options).authFetch("/x"))).message;
  await withOnly({}, async () => {
    for (const [apiBaseUrl, words] of shown) {
      const text = await message({ apiBaseUrl });
      assert(text.includes(words), text);
      assert(!/hun|ter2|ada|hbGc/.test(text), text);
    }
    writeLines(world, { API_BASE_URL: "api.example" });
    assertMatch(await message(), /^Cannot use API_BASE_URL in .*\.env: "api.example" /);
  });
});

const PARTS = {
  AUTH_REGION: "north-1",
  AUTH_PROVIDER_HOST: "idp",
  AUTH_PROVIDER_DOMAIN: "x.example",
};
const endpoints: [
  environment: Record<string, string>,
  file: Record<string, string>,
  endpoint?: string,
][] = [
  [{ AUTH_URL: "https://env.example" }, PARTS, "https://env.example"],
  [PARTS, { AUTH_URL: "https://file.example" }, "https://idp.north-1.x.example"],
  [
    { AUTH_PROVIDER: "aws", AUTH_REGION: "eu-west-1" },
    {},
    "https://cognito-idp.eu-west-1.amazonaws.com",
  ],
  [{ AUTH_REGION: "north-1", AUTH_PROVIDER_HOST: "idp" }, {}],
  // A source with lower precedence neither completes nor replaces the endpoint.
  [{ AUTH_REGION: "north-1" }, { AUTH_URL: "https://file.example" }],
];
Deno.test("the endpoint comes as a whole from the first source that sets any part of it", async () => {
  await using world = portless();
  for (const [environment, file, endpoint] of endpoints) {
    writeLines(world, file);
    const found = await withOnly(environment, () => bareSession(world).status().provider);
    assertEquals(found, endpoint);
  }
});
