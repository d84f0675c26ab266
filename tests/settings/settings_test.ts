/** The source of each setting, the priority of sources, and the error for a wrong value. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { VARIABLES } from "../../src/settings/options.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

/** Variables that the machine running the tests may have set. */
const UNSET = Object.fromEntries(
  [...Object.values(VARIABLES), "ACCESS_TOKEN", "REFRESH_TOKEN"].map((name) => [name, undefined]),
);

/** The clocks and the network of a world, with nothing set. */
function bare(world: ReturnType<typeof portless>): SessionOptions {
  const { fetch, now, monotonic, sleep } = world.options;
  return { ...(fetch && now && monotonic && sleep && { fetch, now, monotonic, sleep }) };
}

const WORDS = { targetHeader: "X-Target", service: "Service", contentType: "text/plain" };

function writeLines(path: string, lines: Record<string, string>): void {
  const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`).join("");
  Deno.writeTextFileSync(path, text);
}

for (const place of ["file", "environment"] as const) {
  Deno.test(`every setting may come from the ${place}`, async () => {
    await using world = portless({ file: true });
    const lines = variablesOf(world.sandbox.settings);
    if (place === "file") writeLines(world.envFile, lines);
    await withEnvironment({ ...UNSET, ...(place === "environment" && lines) }, async () => {
      const session = createSession({
        ...bare(world),
        ...(place === "file" && { envFile: world.envFile }),
      });
      const { state, settings } = await session.login();
      assertEquals(state, "valid");
      assertEquals(Object.keys(settings).sort(), Object.keys(lines).sort());
      assertEquals(new Set(Object.values(settings)), new Set([place]));
      assertEquals((await session.authFetch("/v1/whoami")).status, 200);
    });
  });
}

Deno.test("an option wins over the environment, the environment over the .env", async () => {
  await using world = portless();
  writeLines(world.envFile, {
    APP_CLIENT_ID: "from-file",
    USER_POOL_ID: "from-file",
    AUTH_URL: "https://file.example",
  });
  const variables = { APP_CLIENT_ID: "from-environment", USER_POOL_ID: "from-environment" };
  await withEnvironment({ ...UNSET, ...variables }, () => {
    const { envFile } = world;
    const session = createSession({ envFile, clientId: "mine", provider: WORDS });
    const { clientId, settings, provider } = session.status();
    assertEquals([clientId, provider], ["mine", "https://file.example"]);
    assertEquals(settings, {
      AUTH_URL: "file",
      AUTH_PROVIDER: "option",
      APP_CLIENT_ID: "option",
      USER_POOL_ID: "environment",
    });
    assertEquals(createSession({ envFile }).status().clientId, "from-environment");
  });
  await withEnvironment(UNSET, () => {
    assertEquals(createSession({ envFile: world.envFile }).status().clientId, "from-file");
  });
});

Deno.test("USERNAME and PASSWORD are taken from the environment only as a pair", async () => {
  await using world = portless();
  const { username = "", password = "" } = world.options;
  writeLines(world.envFile, variablesOf(world.sandbox.settings));
  const { envFile } = world;
  for (
    const half of [{ USERNAME: "windows-user" }, { PASSWORD: "half" }, {
      USERNAME: "u",
      PASSWORD: "",
    }]
  ) {
    await withEnvironment({ ...UNSET, ...half }, async () => {
      const session = createSession({ ...bare(world), envFile });
      assertEquals(session.status().settings.USERNAME, "file");
      await session.login({ force: true });
      assertEquals(world.sent.at(-1)?.parameters.USERNAME, username);
      assertEquals(world.sent.at(-1)?.parameters.PASSWORD, password);
    });
  }
  world.sandbox.addUser({ username: "grace", password: "Another-Password-1" });
  await withEnvironment(
    { ...UNSET, USERNAME: "grace", PASSWORD: "Another-Password-1" },
    async () => {
      const session = createSession({ ...bare(world), envFile });
      assertEquals((await session.login({ force: true })).username, "grace");
      assertEquals(session.status().settings.PASSWORD, "environment");
    },
  );
});

Deno.test("a password of another source is not sent with a name it does not belong to", async () => {
  await using world = portless();
  writeLines(world.envFile, variablesOf(world.sandbox.settings));
  await withEnvironment({ ...UNSET, USERNAME: "env-user", PASSWORD: "env-pass" }, async () => {
    const session = createSession({ ...bare(world), envFile: world.envFile, username: "grace" });
    const error = await rejection(session.login({ strategy: "environment" }));
    assertEquals(error.code, "MISSING_SETTINGS");
    assertMatch(error.message, /missing PASSWORD/);
    assertEquals(world.sent.length, 0);
  });
});

Deno.test("an explicitly empty client secret means a public client, in any source", async () => {
  await using world = portless({ sandbox: { clientSecret: false } });
  const { APP_CLIENT_SECRET: _, ...others } = variablesOf(world.sandbox.settings);
  const { envFile } = world;
  await withEnvironment(UNSET, async () => {
    writeLines(envFile, { ...others, APP_CLIENT_SECRET: "" });
    await createSession({ ...bare(world), envFile }).login();
    writeLines(envFile, others);
    const missing = await rejection(
      createSession({ ...bare(world), envFile }).login({ force: true }),
    );
    assertMatch(missing.message, /missing APP_CLIENT_SECRET/);
    await createSession({ ...bare(world), envFile, clientSecret: "" }).login({ force: true });
  });
  await withEnvironment({ ...UNSET, APP_CLIENT_SECRET: "" }, async () => {
    writeLines(envFile, { ...others, APP_CLIENT_SECRET: "not-this-one" });
    await createSession({ ...bare(world), envFile }).login({ force: true });
  });
  assertEquals(world.logins(), 3);
  for (const each of world.sent) assertEquals("SECRET_HASH" in each.parameters, false);
});

Deno.test("an option that allows no origin wins over the environment, an empty variable over nothing", async () => {
  await using world = portless();
  const url = "https://tiles.example/1";
  const { allowedOrigins: _, ...options } = world.options;
  const codeOf = async (given: SessionOptions) => {
    const session = createSession({ ...options, ...given });
    await session.login();
    return (await session.authFetch(url).catch((error) => error)).code;
  };
  await withEnvironment({ ...UNSET, API_ALLOWED_ORIGINS: "https://tiles.example" }, async () => {
    assertEquals(await codeOf({}), "API_UNREACHABLE");
    assertEquals(await codeOf({ allowedOrigins: [] }), "UNTRUSTED_ORIGIN");
  });
  writeLines(world.envFile, { API_ALLOWED_ORIGINS: "https://tiles.example" });
  await withEnvironment({ ...UNSET, API_ALLOWED_ORIGINS: "" }, () => {
    const { settings } = createSession({ envFile: world.envFile }).status();
    assertEquals(settings.API_ALLOWED_ORIGINS, "file");
  });
});

Deno.test("a session other than the default one uses neither a command nor a store from the environment", async () => {
  const variables = { AUTH_TOKEN_COMMAND: "print-token", AUTH_STORE: "redis://127.0.0.1" };
  await withEnvironment({ ...UNSET, ...variables, AUTH_STORE_KEY: "k".repeat(43) }, () => {
    assertEquals(createSession().status().settings, { AUTH_STORE_KEY: "environment" });
  });
});

Deno.test("spaces around a setting are ignored, except in a password", async () => {
  await using world = portless();
  const { clientId = "", userPoolId = "", username = "", password = "" } = world.options;
  const padded = world.another({
    clientId: ` ${clientId}\n`,
    userPoolId: `${userPoolId} `,
    username: `\t${username}`,
  });
  assertEquals((await padded.login()).state, "valid");
  const error = await rejection(world.another({ password: `${password} ` }).login());
  assertEquals(error.code, "INVALID_CREDENTIALS");
});

Deno.test("a setting that cannot be used is refused before anything is sent", async () => {
  await using world = portless();
  const cases: [SessionOptions, RegExp][] = [
    [{ authUrl: "http://provider.example" }, /AUTH_URL.*https:/],
    [{ authUrl: "https://user:secret-word@provider.example" }, /AUTH_URL/],
    [{ authUrl: "https://provider.example/?x=1" }, /AUTH_URL/],
    [{ clientSecret: "secret-word\u0000" }, /APP_CLIENT_SECRET/],
    [{ username: "secret-word\u001b[2J" }, /USERNAME/],
    [{ apiBaseUrl: "https://a.example/\nsecret-word" }, /API_BASE_URL/],
    [{ region: "eu\nsecret-word" }, /AUTH_REGION/],
    [{ clientId: "two words" }, /APP_CLIENT_ID/],
    [{ provider: "other" as "aws" }, /AUTH_PROVIDER/],
    [{ provider: { ...WORDS, targetHeader: "X Target" } }, /_PROVIDER.* needs a targetHeader, a /],
    [{ provider: { ...WORDS, service: "two words" } }, /AUTH_PROVIDER.* needs a service, a word/],
    [{ refreshSecretHash: "maybe" as "auto" }, /AUTH_REFRESH_SECRET_HASH/],
    [{ timeoutMs: 0 }, /AUTH_TIMEOUT_MS/],
    [{ timeoutMs: 1.5 }, /AUTH_TIMEOUT_MS/],
  ];
  for (const [options, words] of cases) {
    const error = await rejection(world.another(options).login());
    assertEquals(error.code, "INVALID_SETTING", JSON.stringify(options));
    assertMatch(error.message, words);
    assert(!error.message.includes("secret-word"), error.message);
  }
  assertEquals(world.sent.length, 0);
});

Deno.test("an API_BASE_URL that cannot be used is shown with its place, without a password", async () => {
  await using world = portless({ file: true });
  const { apiBaseUrl: _, ...options } = world.options;
  const messageOf = (given: SessionOptions) =>
    rejection(createSession({ ...options, ...given }).authFetch("/x")).then(({ message }) =>
      message
    );
  const shown: [value: string, words: string][] = [
    [
      "api.example.com",
      'Cannot use API_BASE_URL (the option apiBaseUrl): "api.example.com" must be an https: URL',
    ],
    ["http://api.example.com/v1?key=hunter2", '"http://api.example.com/v1" must'],
    ["https://ada:hun/ter2@api.example.com", '"https://api.example.com" must'],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln", "(the option apiBaseUrl): it must"],
  ];
  for (const [apiBaseUrl, words] of shown) {
    const message = await messageOf({ apiBaseUrl });
    assert(message.includes(words), message);
    assert(!/hun|ter2|ada|hbGc/.test(message), message);
  }
  await withEnvironment({ ...UNSET, API_BASE_URL: "api.example" }, async () => {
    assertMatch(await messageOf({}), /^Cannot use API_BASE_URL in the environment: "api.example" /);
  });
  writeLines(world.envFile, { API_BASE_URL: "api.example" });
  await withEnvironment(UNSET, async () => {
    assertMatch(
      await messageOf({ envFile: world.envFile }),
      /^Cannot use API_BASE_URL in .*\.env: /,
    );
  });
});

Deno.test("the endpoint comes as a whole from the strongest source that contains a part of it", async () => {
  await using world = portless({ file: true });
  const parts = {
    AUTH_REGION: "north-1",
    AUTH_PROVIDER_HOST: "idp",
    AUTH_PROVIDER_DOMAIN: "x.example",
  };
  const cases: [Record<string, string>, Record<string, string>, string | undefined][] = [
    [{ AUTH_URL: "https://env.example" }, parts, "https://env.example"],
    [parts, { AUTH_URL: "https://file.example" }, "https://idp.north-1.x.example"],
    [
      { AUTH_PROVIDER: "aws", AUTH_REGION: "eu-west-1" },
      {},
      "https://cognito-idp.eu-west-1.amazonaws.com",
    ],
    [{}, { AUTH_URL: "https://file.example" }, "https://file.example"],
    // A part of an address is not completed, or replaced, by a weaker source.
    [{ AUTH_REGION: "north-1" }, { AUTH_URL: "https://file.example" }, undefined],
    [{ AUTH_REGION: "eu-west-1" }, { AUTH_PROVIDER: "aws" }, undefined],
  ];
  for (const [environment, file, provider] of cases) {
    writeLines(world.envFile, file);
    const found = await withEnvironment(
      { ...UNSET, ...environment },
      () => createSession({ envFile: world.envFile }).status().provider,
    );
    assertEquals(found, provider);
  }
});
