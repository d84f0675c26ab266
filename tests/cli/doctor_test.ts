/** Checks of doctor(): settings, files, permissions, and what the provider and the API respond. */
import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { createSession } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { refusedConnection } from "../support/answers.ts";
import { canaries, SETTINGS, tokenLines } from "../support/canaries.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import { inFolder, MOD_PATH, namesIn, runScript } from "../support/child_deno.ts";
import { mounted, noMounts } from "../support/disks.ts";
import { withOnly } from "../support/environment.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { serveLocal } from "../support/local_server.ts";
import { testNeeding } from "../support/needs.ts";
import { portless, signedIn, type TestOptions } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { checkOf, diagnosisOf } from "./doctor_checks.ts";

Deno.test("doctor() reports ok on a working setup, and changes nothing", async () => {
  using _ = heldTimeouts();
  await using sandbox = await startSandbox();
  const { settings } = sandbox;
  const session = createSession(settings);
  await session.login();
  const look = () => ({
    file: Deno.readTextFileSync(settings.envFile),
    folder: namesIn(dirname(settings.envFile)),
    environment: Deno.env.toObject(),
    status: { ...session.status(), asOf: undefined },
  });
  await withOnly({}, async () => {
    const before = look();
    const diagnosis = await session.doctor();
    assertEquals(look(), before);
    assertEquals(diagnosis.ok, true);
    assertEquals(diagnosis.checks.map(({ name, level }) => `${name} ${level}`), [
      ...["runtime ok", "settings ok", "receivers ok", ".env ok", "provider ok", "clock ok"],
      ...["API ok", "token ok", "session ok", "permissions ok"],
    ]);
    const flags = /: --allow-read=\S+ --allow-write=\S+ --allow-net=(127\S+:\d+,?){2} --allow-env$/;
    assertMatch(checkOf(diagnosis, "permissions"), flags);
    // Of all requests to the provider, only the login succeeded: doctor() changed nothing there.
    assertEquals(sandbox.requests.filter(({ status }) => status === 200).length, 1);
  });
});

const { authUrl: _, ...WITHOUT_PROVIDER } = SETTINGS;
const { apiBaseUrl: __, ...WITHOUT_API } = SETTINGS;
const NO_PERMISSION = () => {
  throw new Deno.errors.NotCapable("Requires net access");
};
const WEB_PAGE = new Response("", { headers: { "content-type": "text/html; charset=utf-8" } });
const REDIRECT = new Response(null, { status: 302, headers: { location: "/login" } });

const responding = (answer: Canned) => ({ ...SETTINGS, fetch: cannedFetch(answer).fetch });
/** A fixed time, so that the offset of this machine's clock is exact. */
const PROVIDER_TIME = Date.UTC(2025, 5, 1, 12);
const ahead = (seconds: number): TestOptions => ({
  ...responding(new Response(null, { headers: { date: new Date(PROVIDER_TIME).toUTCString() } })),
  now: () => PROVIDER_TIME + seconds * 1_000,
});
const silent: TestOptions = {
  ...SETTINGS,
  fetch: (_, init) => Promise.reject(init?.signal?.reason),
  // The time limit of five seconds has already passed.
  timeout: () => AbortSignal.abort(new DOMException("", "TimeoutError")),
};

/** A check by its name: its level, its message and, after an arrow, its fix. */
type Found = [name: string, check: RegExp];

const worlds: [world: string, options: TestOptions, ...found: Found[]][] = [
  [
    "no address of a provider",
    WITHOUT_PROVIDER,
    ["provider", /^skip: no address is set$/],
    ["clock", /^skip: not compared: the provider sent no date$/],
  ],
  [
    "a refused connection",
    responding(refusedConnection),
    ["provider", /^fail: provider\.example: the connection was refused → .*network and any proxy/],
    ["API", /^fail: api\.example: the connection was refused → .*network and any proxy/],
  ],
  [
    "a missing permission",
    responding(NO_PERMISSION),
    ["provider", /^fail: .* reach provider\.example .* → .*--allow-net=provider\.example$/],
  ],
  [
    "a host that does not respond",
    silent,
    ["provider", /^fail: .*did not respond within 5 seconds → .*network and any proxy/],
  ],
  ["no API_BASE_URL", WITHOUT_API, ["API", /^warn: .* is not set → .*authFetch\(\)/]],
  [
    "an API_BASE_URL that must not receive the token",
    { ...SETTINGS, apiBaseUrl: "http://elsewhere.example/" },
    ["API", /^fail: .*API_BASE_URL.* → ./],
  ],
  [
    "a web page instead of the API",
    responding(WEB_PAGE),
    ["API", /^warn: .* responds with a web page, as .* → check API_BASE_URL, /],
  ],
  [
    "the address of a portal",
    responding(REDIRECT),
    ["API", /^warn: api\.example redirects .*, as a portal does → check API_BASE_URL, /],
    ["provider", /^warn: provider\.example redirects .*, as a portal does → check AUTH_URL, /],
  ],
  ["a clock that is 30 seconds ahead", ahead(30), ["clock", /^ok: agrees with .* clock$/]],
  [
    "a clock that is five minutes ahead",
    ahead(300),
    ["clock", /^warn: 300 seconds ahead .* → correct .* clock$/],
  ],
  [
    "a clock that is five minutes behind",
    ahead(-300),
    ["clock", /^warn: 300 seconds behind .* → correct .* clock$/],
  ],
  [
    "several hosts",
    {
      ...WITHOUT_PROVIDER,
      ...{ providerHost: "idp", providerDomain: "localhost:9", region: "eu-1" },
      allowedOrigins: ["https://one.localhost", "https://two.localhost:8443"],
    },
    [
      "receivers",
      /^ok: password and refresh token: idp\.eu-1\.localhost:9; access token: api\.example, one\.localhost, two\.localhost:8443$/,
    ],
  ],
  [
    "no .env",
    SETTINGS,
    [".env", /^ok: none: the session is in memory only$/],
    [
      "receivers",
      /^ok: password and refresh token: provider\.example; access token: api\.example$/,
    ],
  ],
];
for (const [world, options, ...found] of worlds) {
  Deno.test(`doctor() reports its checks for ${world}`, async () => {
    const diagnosis = await diagnosisOf(options);
    for (const [name, check] of found) assertMatch(checkOf(diagnosis, name), check);
  });
}

Deno.test("the checks of the settings show the source of each setting, and which variables override the .env", () =>
  inFolder(async (folder) => {
    const variables = { USER_POOL_ID: "pool_1", API_ALLOWED_ORIGINS: "https://files.example" };
    await writeEnv(folder, {
      ...variables,
      APP_CLIENT_ID: "shadowed-by-the-option",
      APP_CLIENT_SECRET: canaries.clientSecret,
    });
    const { clientSecret: _, userPoolId: __, ...others } = SETTINGS;
    const options = { ...others, envFile: `${folder}/.env` };
    const diagnosis = await diagnosisOf(options, { ...variables, USER_POOL_ID: "pool_2" });
    assertEquals(
      checkOf(diagnosis, "settings"),
      "ok: as options: AUTH_URL, APP_CLIENT_ID, USERNAME, PASSWORD, API_BASE_URL; " +
        "from the environment: USER_POOL_ID, API_ALLOWED_ORIGINS; from the .env: APP_CLIENT_SECRET",
    );
    assertMatch(
      checkOf(diagnosis, "shadowing"),
      /^warn: .* override the \.env.*: USER_POOL_ID → unset USER_POOL_ID,/,
    );
  }));

Deno.test("missing settings are only a warning while a portal string is valid", async () => {
  const missing = /: .*missing AUTH_URL, .*USER_POOL_ID.* → .*the support channel/;
  const before = checkOf(await diagnosisOf({}), "settings");
  const portalToken = `bearer ${canaries.accessToken}`;
  const after = checkOf(await diagnosisOf({}, {}, { portalToken }), "settings");
  assertMatch(before, missing);
  assertEquals([before.slice(0, 4), after.slice(0, 4)], ["fail", "warn"]);
  assertEquals(after.slice(4), before.slice(4));
});

Deno.test("the proxy check names the variable that sets the proxy, but hides the proxy's password", async () => {
  const proxy = `http://user:${canaries.password}@proxy.example:8080`;
  const proxyCheck = async (variables: Record<string, string>) =>
    checkOf(await diagnosisOf(SETTINGS, variables), "proxy");
  assertMatch(await proxyCheck({ all_proxy: proxy }), /^ok: .*all_proxy: requests use this proxy/);
  // HTTP_PROXY affects only http: URLs, which the settings allow only on loopback.
  assertEquals(await proxyCheck({ HTTP_PROXY: proxy }), "none");
});

const write = (text: string, mode = 0o600) => (envFile: string) =>
  Deno.writeTextFileSync(envFile, text, { mode });
const files: [state: string, make: (envFile: string) => void, check: RegExp][] = [
  [
    "in a folder that does not exist",
    (envFile) => Deno.removeSync(dirname(envFile)),
    /^warn: .*its folder does not exist, .* memory only → make its folder writable.*AUTH_ENV_FILE/,
  ],
  ["that does not exist yet", () => {}, /^ok: .* does not exist yet/],
  ["that is private", write(tokenLines()), /^ok: .* exists$/],
  [
    "that others can read",
    write(tokenLines(), 0o644),
    Deno.build.os === "windows" ? /^ok/ : /^warn: other users .* can read .* → run: chmod 600 /,
  ],
  [
    "that is not UTF-8",
    (envFile) => Deno.writeFileSync(envFile, new Uint8Array([0xff, 0xfe, 0])),
    /^fail: .*not UTF-8.* → .*UTF-8/,
  ],
  ["that is a folder", Deno.mkdirSync, /^fail: .*not a regular file.* → ./],
];
for (const [state, make, check] of files) {
  Deno.test(`the .env check reports a .env ${state}`, () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/project/.env`;
      Deno.mkdirSync(dirname(envFile));
      make(envFile);
      assertMatch(checkOf(await diagnosisOf({ ...SETTINGS, envFile }), ".env"), check);
    }));
}

testNeeding(
  noMounts,
  "the .env check reports a .env that is mounted as a single file",
  () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/.env`;
      write(tokenLines())(envFile);
      const check = /^warn: .*mounted as a single file.* → mount its folder/;
      await mounted(envFile, async () => {
        assertMatch(checkOf(await diagnosisOf({ ...SETTINGS, envFile }), ".env"), check);
      });
    }),
);

const ignoring: [lines: string, covers: boolean][] = [
  ["", false],
  [".env*\r\n!.env.example\r\n", true],
  // The temporary file contains the same tokens.
  [".env", false],
  [".env\n*.tmp", true],
  ["**/.env*", true],
  ["project/.env*", true],
  ["/.env*", false],
  [".env*\n!.env", false],
];
Deno.test("the version control check says whether the .gitignore covers the .env", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/project/.env`;
    const check = async () =>
      checkOf(await diagnosisOf({ ...SETTINGS, envFile }), "version control");
    await Deno.mkdir(dirname(envFile));
    assertEquals(await check(), "none");
    await Deno.mkdir(`${folder}/.git`);
    for (const [lines, covers] of ignoring) {
      await Deno.writeTextFile(`${folder}/.gitignore`, lines);
      const wanted = covers ? /^ok: .* covers/ : /^warn: .* → add \.env\* and .* to \.gitignore$/;
      assertMatch(await check(), wanted, lines);
    }
    await Deno.writeTextFile(`${folder}/project/.gitignore`, ".env*");
    assertMatch(await check(), /^ok: .* covers/);
  }));

Deno.test("doctor() names a missing permission", () =>
  inFolder(async (cwd) => {
    await writeEnv(cwd, { APP_CLIENT_ID: "example-client" });
    const script = `
      import { doctor } from ${JSON.stringify(MOD_PATH)};
      const { checks } = await doctor();
      console.log(checks.find(({ name }) => name === ".env").fix);`;
    const { stdout } = await runScript(script, { cwd, flags: ["--allow-env"] });
    assertMatch(stdout, /--allow-read=/);
  }));

const SCOPES = "platform\\.read platform\\.annotate aws\\.cognito\\.signin\\.user\\.admin";
const REJECTED = new RegExp(
  `^fail: the API rejects the token \\(status 40[13]\\); its scopes: ${SCOPES} → ` +
    `run login\\(\\{ force: true \\}\\); .* support channel .*: "The data platform API rejects .*scopes`,
);
const INSUFFICIENT = 'Bearer realm="api", error="insufficient_scope"';
const UNCERTAIN = /^skip: not certain: GET http\S+\/ returns status \d+ with the token and \d+ wi/;

/** The statuses without and with the token, the checks of the API and the token, and a header. */
const answers: [without: number, withToken: number, api: RegExp, token: RegExp, header?: string][] =
  [
    [401, 200, /^ok: .* is reachable$/, /^ok: the API accepts the token$/],
    [401, 401, /^ok: /, REJECTED],
    [401, 403, /^ok: /, REJECTED, INSUFFICIENT],
    // Without error="insufficient_scope", a 403 says nothing about the token.
    [401, 403, /^ok: /, UNCERTAIN, "Bearer"],
    [401, 404, /^ok: /, UNCERTAIN],
    [503, 503, /^warn: .* responds with status 503 → /, UNCERTAIN],
  ];
for (const [without, withToken, api, token, header = ""] of answers) {
  const statuses = `${without} without and ${withToken} with the token`;
  Deno.test(`doctor() reports an API with status ${statuses} ${header}`, async () => {
    await using world = await signedIn({
      api: ({ headers }) => {
        const status = headers.has("authorization") ? withToken : without;
        return new Response(null, { status, headers: { "www-authenticate": header } });
      },
    });
    const { session, called } = world;
    const diagnosis = await session.doctor();
    assertMatch(checkOf(diagnosis, "API"), api);
    assertMatch(checkOf(diagnosis, "token"), token);
    assertEquals(called.map(({ authorization }) => authorization.slice(0, 6)), ["", "bearer"]);
    assertEquals(world.refreshes(), 0);
  });
}

Deno.test("doctor() does not send the token to the target of a redirect", async () => {
  using _ = heldTimeouts();
  const tokens: unknown[] = [];
  await using elsewhere = serveLocal((request) => {
    tokens.push(request.headers.get("authorization"));
    return new Response();
  });
  await using api = serveLocal(({ headers }) =>
    headers.has("authorization")
      ? Response.redirect(elsewhere.origin, 307)
      : new Response(null, { status: 401 })
  );
  const options = { apiBaseUrl: api.origin, fetch };
  const diagnosis = await diagnosisOf(options, {}, {
    portalToken: "bearer an-opaque-portal-token",
  });
  assertMatch(checkOf(diagnosis, "token"), UNCERTAIN);
  assertEquals(tokens, []);
});

Deno.test("doctor() shows the state of the session and what to do next", async () => {
  await using world = portless();
  const { session, clock } = world;
  const check = async () => checkOf(await session.doctor(), "session");
  assertMatch(await check(), /^warn: .* → .*login\(\)/);
  await session.login();
  clock.advance(1_801);
  assertMatch(await check(), /^ok: .*expired 1 s ago/);
  await session.login({ portalToken: await world.sandbox.portalToken() });
  clock.advance(1_801);
  assertMatch(await check(), /^warn: .*expired.* → .*strategy: "portal/);
});

Deno.test("doctor() fails with a Deno older than 2.9.6", async () => {
  const described = Object.getOwnPropertyDescriptor(Deno, "version") ?? {};
  for (const [deno, level] of [["2.9.5", "fail"], ["2.9.6", "ok"], ["2.10.0", "ok"]]) {
    const value = { ...Deno.version, deno };
    Object.defineProperty(Deno, "version", { configurable: true, value });
    try {
      assertEquals(checkOf(await diagnosisOf(SETTINGS), "runtime").split(":")[0], level);
    } finally {
      Object.defineProperty(Deno, "version", described);
    }
  }
});
