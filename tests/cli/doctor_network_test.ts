/** Checks of doctor() that send requests, and the check of the session. */
import { assertEquals, assertMatch } from "@std/assert";
import { type Check, createSession } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { assertHides, canaries, repeatedPart, SETTINGS, shownBy } from "../support/canaries.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import {
  assertCheck,
  assertNone,
  checkNamed,
  diagnosisOf,
  NO_VARIABLES,
  reachable,
} from "./doctor_checks.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, type TestOptions, testSession } from "../support/portless.ts";
import { errorAnswer, refusedConnection } from "../support/answers.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { serveLocal } from "../support/local_server.ts";

const { authUrl: _, ...WITHOUT_PROVIDER } = SETTINGS;
const { apiBaseUrl: __, ...WITHOUT_API } = SETTINGS;
const NETWORK = /network and any proxy/;
const NO_PERMISSION = () => {
  throw new Deno.errors.NotCapable("Requires net access");
};
const WEB_PAGE = () =>
  new Response("", { headers: { "content-type": "text/html; charset=utf-8" } });

const responding = (respond: Canned) => ({ ...SETTINGS, fetch: cannedFetch(respond).fetch });
/** A fixed time, so that the offset of this machine's clock is exact. */
const PROVIDER_TIME = Date.UTC(2025, 5, 1, 12);
const ahead = (seconds: number): TestOptions => ({
  ...responding(() =>
    new Response(null, { headers: { date: new Date(PROVIDER_TIME).toUTCString() } })
  ),
  now: () => PROVIDER_TIME + seconds * 1_000,
});
const silent: TestOptions = {
  ...SETTINGS,
  fetch: (_, init) => Promise.reject(init?.signal?.reason),
  // The time limit of five seconds has already passed.
  timeout: () => AbortSignal.abort(new DOMException("", "TimeoutError")),
};

const faults: [
  what: string,
  options: TestOptions,
  ...checks: [name: string, level: Check["level"], message: RegExp, fix?: RegExp][],
][] = [
  [
    "that no provider is set",
    WITHOUT_PROVIDER,
    ["provider", "skip", /no address/],
    ["clock", "skip", /^not compared: the provider sent no date$/],
  ],
  [
    "a refused connection",
    responding(refusedConnection),
    ["provider", "fail", /^provider\.example: the connection was refused$/, NETWORK],
    ["clock", "skip", /^not compared: the provider sent no date$/],
    ["API", "fail", /^api\.example: the connection was refused$/, NETWORK],
  ],
  [
    "a missing permission",
    responding(NO_PERMISSION),
    ["provider", "fail", /permission to reach provider\.example/, /--allow-net=provider\.example/],
  ],
  ["a host that does not respond", silent, [
    "provider",
    "fail",
    /did not respond within 5 seconds/,
    NETWORK,
  ]],
  ["that API_BASE_URL is not set", WITHOUT_API, ["API", "warn", /is not set/, /authFetch\(\)/]],
  [
    "a web page instead of the API",
    responding(WEB_PAGE),
    ["API", "warn", /responds with a web page, as/, /API_BASE_URL/],
  ],
  ["ok for a clock that is 30 seconds ahead", ahead(30), ["clock", "ok", /^agrees/]],
  [
    "a clock that is five minutes ahead",
    ahead(300),
    ["clock", "warn", /^300 seconds ahead/, /correct .* clock/],
  ],
  [
    "a clock that is five minutes behind",
    ahead(-300),
    ["clock", "warn", /^300 seconds behind/, /correct .* clock/],
  ],
  [
    "a response without a Date header",
    responding(() => new Response()),
    ["clock", "skip", /the provider sent no date$/],
  ],
];
for (const [what, options, ...checks] of faults) {
  Deno.test(`doctor() reports ${what}`, async () => {
    const unset = { AUTH_URL: undefined, API_BASE_URL: undefined };
    const diagnosis = await withEnvironment(unset, () => diagnosisOf(options));
    for (const check of checks) assertCheck(diagnosis, ...check);
  });
}

Deno.test("the proxy check names the variable that sets the proxy, but hides the proxy's password", async () => {
  const proxy = `http://user:${canaries.password}@proxy.example:8080`;
  for (const name of ["all_proxy", "HTTP_PROXY"]) {
    await withEnvironment({ ...NO_VARIABLES, [name]: proxy }, async () => {
      const session = testSession({
        ...SETTINGS,
        envFile: false,
        fetch: cannedFetch(reachable).fetch,
      });
      const diagnosis = await session.doctor();
      await assertHides(diagnosis, "a diagnosis");
      // HTTP_PROXY affects only http: URLs, which the settings allow only on loopback.
      if (name === "HTTP_PROXY") return assertNone(diagnosis, "proxy");
      assertCheck(diagnosis, "proxy", "ok", new RegExp(`${name}.*: requests use this proxy`, "i"));
    });
  }
});

Deno.test("the token check says whether the API accepts a token that has not expired", async () => {
  await using world = portless();
  const { session, sandbox, clock } = world;
  const look = async () => {
    const before = session.status();
    const diagnosis = await session.doctor();
    assertEquals({ ...session.status(), asOf: undefined }, { ...before, asOf: undefined });
    assertEquals(repeatedPart(await shownBy(diagnosis), [await held()]), undefined);
    return diagnosis;
  };
  const held = () => session.accessToken();
  assertNone(await session.doctor(), "token");
  await session.login();
  const token = await held();
  const good = await look();
  assertCheck(good, "token", "ok", /^the API accepts the token$/);
  const base = `${new URL(String(world.options.apiBaseUrl)).origin}/`;
  assertEquals(world.called.map(({ url }) => url), [base, base, base]);
  const sent = world.called.map(({ authorization }) => authorization);
  assertEquals(sent, ["", "", `bearer ${token}`]);

  // The provider has ended the session, but nothing on this computer shows that.
  clock.advance(301);
  sandbox.signOutEverywhere();
  assertEquals(session.status().state, "valid");
  const dead = await look();
  const fix = /^run login\(\{ force: true \}\);/;
  assertCheck(dead, "token", "fail", /^the API rejects the token \(status 401\); its scopes/, fix);
  assertEquals(world.refreshes(), 0);

  clock.advance(1_801);
  assertNone(await session.doctor(), "token");
});

Deno.test("doctor() sends the token neither to a redirect's target nor to a forbidden API_BASE_URL", async () => {
  const tokens: string[] = [];
  await using elsewhere = serveLocal((request) => {
    tokens.push(request.headers.get("authorization") ?? "none");
    return new Response();
  });
  const location = `${elsewhere.origin}/`;
  await using api = serveLocal(({ headers }) => {
    const status = headers.has("authorization") ? 307 : 401;
    return new Response(null, { status, headers: { location } });
  });
  const apiBaseUrl = api.origin;
  await withEnvironment({ ...NO_VARIABLES, AUTH_URL: undefined }, async () => {
    const session = createSession({ envFile: false, apiBaseUrl });
    await session.login({ portalToken: "bearer an-opaque-portal-token" });
    assertCheck(
      await session.doctor(),
      "token",
      "skip",
      /not certain: .* status 307 with the token and 401 without/,
    );
    const refused = createSession({ envFile: false, apiBaseUrl: `http://elsewhere.example/` });
    await refused.login({ portalToken: "bearer an-opaque-portal-token" });
    assertCheck(await refused.doctor(), "API", "fail", /API_BASE_URL/, /./);
  });
  assertEquals(tokens, []);
});

Deno.test("doctor() reports an AUTH_URL or API_BASE_URL that is the address of a portal", async () => {
  using _ = heldTimeouts();
  await using sandbox = await startSandbox();
  const { portalUrl } = sandbox;
  const settings = { ...sandbox.settings, authUrl: portalUrl, apiBaseUrl: portalUrl };
  const portal = await withEnvironment(NO_VARIABLES, () => createSession(settings).doctor());
  const redirected = /^127\.0\.0\.1:\d+ redirects to another page, as a portal does$/;
  assertCheck(portal, "API", "warn", redirected, /^check API_BASE_URL, .* not the portal$/);
  assertCheck(portal, "provider", "warn", redirected, /^check AUTH_URL, /);
});

Deno.test("doctor() does not fail if the base address of the API responds with an error status", async () => {
  const base = "https://api.example/v1/";
  const cases: [without: number, withToken: number, api: RegExp, token: [string, RegExp]][] = [
    [401, 404, /^ok api\.example is reachable$/, [
      "skip",
      /^not certain: GET https:\/\/api\.example\/v1\/? returns status 404 with the token and 401 without; try a path/,
    ]],
    [503, 503, /^warn api\.example responds with status 503$/, ["skip", /503 without/]],
    [401, 503, /^ok /, ["skip", /^not certain: .* status 503 with the token and 401/]],
  ];
  for (const [without, withToken, api, [level, token]] of cases) {
    const urls: string[] = [];
    const { fetch } = cannedFetch(({ url, headers }) => {
      if (!url.startsWith(base.slice(0, -1))) return reachable();
      urls.push(url);
      return new Response(null, { status: headers.has("authorization") ? withToken : without });
    });
    await withEnvironment(NO_VARIABLES, async () => {
      const session = testSession({ ...SETTINGS, apiBaseUrl: base, envFile: false, fetch });
      await session.login({ portalToken: "bearer an-opaque-portal-token" });
      const diagnosis = await session.doctor();
      const check = checkNamed("API", diagnosis);
      assertMatch(`${check.level} ${check.message}`, api);
      assertCheck(diagnosis, "token", level as "ok", token);
    });
    assertEquals(urls.length, 2);
  }
});

Deno.test("doctor() shows the state of the session and what to do next", async () => {
  await using world = portless();
  const { session, clock } = world;
  const check = async () => checkNamed("session", await session.doctor());
  assertEquals((await check()).level, "warn");
  assertMatch((await check()).fix ?? "", /login\(\)/);
  await session.login();
  clock.advance(1_801);
  assertMatch(JSON.stringify(await check()), /"ok".*expired 1 s ago/);
  await session.login({ portalToken: await world.sandbox.portalToken() });
  clock.advance(1_801);
  assertMatch(JSON.stringify(await check()), /"warn".*expired.*strategy: ."portal/);
});

Deno.test("doctor({ login: true }) reports a wrong password, and sends nothing more", async () => {
  await using world = portless({ file: true });
  const wrong = world.another({ password: "wrong" });
  const refused = await wrong.doctor({ login: true });
  assertCheck(refused, "login", "fail", /rejected the user name or the password/, /check both/);
  assertNone(await world.another().doctor(), "login");
  assertEquals(world.sent.map(({ flow }) => flow), ["USER_PASSWORD_AUTH"]);
  const unsaid = cannedFetch(errorAnswer("X", `echo ${canaries.password}`));
  await diagnosisOf({ ...SETTINGS, fetch: unsaid.fetch }, true);
});

Deno.test("doctor() fails with a Deno older than 2.9.6", async () => {
  const described = Object.getOwnPropertyDescriptor(Deno, "version") ?? {};
  const versions = [["2.9.5", "fail"], ["2.9.6", "ok"], ["2.10.0", "ok"]];
  for (const [version, level] of versions) {
    Object.defineProperty(Deno, "version", {
      configurable: true,
      value: { ...Deno.version, deno: version },
    });
    try {
      assertEquals(checkNamed("runtime", await diagnosisOf(SETTINGS)).level, level);
    } finally {
      Object.defineProperty(Deno, "version", described);
    }
  }
});
