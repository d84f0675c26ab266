/** The reports of a session about its work: as events, and as lines on standard error. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { createSession, type LogEvent } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { lockEnvFile } from "../../src/settings/env_file.ts";
import { refusedConnection } from "../support/answers.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import {
  portless,
  type PortlessOptions,
  rejection,
  signedIn,
  statusOf,
} from "../support/portless.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

type Name = LogEvent["event"];

/** A world whose session keeps its events. */
function logging(options: PortlessOptions = {}) {
  const events: LogEvent[] = [];
  const log = (event: LogEvent) => void events.push(event);
  const world = portless({ ...options, session: { log, ...options.session } });
  /** The events with one of these names so far, which are taken out. */
  const take = (...names: Name[]) =>
    events.splice(0).filter(({ event }) => names.includes(event)) as Record<string, unknown>[];
  return { world, take };
}

Deno.test("the log says why a refresh was made, and how it ended", async () => {
  let rejects = false;
  const { world, take } = logging({
    api: () => new Response(null, { status: rejects ? 401 : 200 }),
  });
  await using _ = world;
  const { clock, session } = world;
  await session.login();
  const call = () => statusOf(session.authFetch("/v1/stations"));
  const refreshes = () => take("refresh").map(({ reason, outcome }) => [reason, outcome]);

  await call();
  assertEquals(refreshes(), []);
  await session.refresh();
  assertEquals(refreshes(), [["forced", "refreshed"]]);
  clock.advance(1_750);
  await call();
  assertEquals(refreshes(), [["early", "refreshed"]]);
  clock.advance(3_000);
  await Promise.all([call(), call()]);
  assertEquals(refreshes(), [["due", "refreshed"]]);
  rejects = true;
  await call();
  assertEquals(refreshes(), [["rejected", "refreshed"]]);
});

Deno.test("the log shows a refresh that failed although the call succeeded", async () => {
  const { world, take } = logging({ session: { timeoutMs: 2_000 } });
  await using _ = world;
  await world.session.login();
  world.sandbox.failures.push({ at: "token", status: 500 });
  world.clock.advance(1_750);
  assertEquals(await statusOf(world.session.authFetch("/v1/stations")), 200);
  assertEquals(take("refresh").map(({ reason, outcome }) => [reason, outcome]), [
    ["early", "SERVER_ERROR"],
  ]);
});

Deno.test("the log shows each request without its query, its status and its attempt", async () => {
  const { world, take } = logging();
  await using _ = world;
  const { sandbox: { apiUrl, authUrl, failures }, session } = world;
  await session.login();
  failures.push({ at: "api", status: 503, headers: { "retry-after": "3" }, times: 1 });
  await session.fetchJson("/v1/stations?near=gull-harbor");
  const api = { event: "request", to: "api", method: "GET", url: `${apiUrl}/v1/stations` };
  assertEquals(take("request", "pause"), [
    {
      ...{ event: "request", to: "provider", flow: "login", method: "POST" },
      ...{ url: `${authUrl}/`, status: 200, milliseconds: 0, attempt: 1 },
    },
    { ...api, status: 503, milliseconds: 0, attempt: 1 },
    {
      event: "pause",
      pauseMs: Math.round(world.pauses[0] ?? 0),
      reason: "the API responded with 503",
    },
    { ...api, status: 200, milliseconds: 0, attempt: 2 },
  ]);
  await statusOf(session.authFetch(new Request(`${apiUrl}/v1/nowhere`, { method: "DELETE" })));
  assertEquals(take("request").map(({ method, status }) => [method, status]), [["DELETE", 404]]);
});

Deno.test("the log counts the request that a 401 caused to be repeated", async () => {
  const { world, take } = logging({
    api: (_, count) => new Response(null, { status: count === 1 ? 401 : 204 }),
  });
  await using _ = world;
  await world.session.login();
  await world.session.authFetch("/v1/x");
  const requests = take("request").slice(1);
  assertEquals(requests.map(({ to, status, attempt }) => [to, status, attempt]), [
    ["api", 401, 1],
    ["provider", 200, 1],
    ["api", 204, 2],
  ]);
});

Deno.test("the log shows the host of a redirect, but neither its path nor its query", async () => {
  const { world, take } = logging({
    api: ({ url }) =>
      url.includes("/signed-") ? new Response("data") : new Response(null, {
        status: 302,
        headers: { location: "https://files.example/signed-path/data?signature=1" },
      }),
  });
  await using _ = world;
  await world.session.login();
  take();
  await statusOf(world.session.authFetch("/v1/file"));
  assertEquals(take("request").map(({ url, status }) => [url, status]), [
    [`${world.sandbox.apiUrl}/v1/file`, 302],
    ["https://files.example/…", 200],
  ]);
});

Deno.test("the log shows the failure of a request without a response", async () => {
  const abort = new AbortController();
  const { world, take } = logging({
    provider: refusedConnection,
    api: (_, count) => {
      if (count === 2) abort.abort();
      return refusedConnection();
    },
  });
  await using _ = world;
  const { session } = world;
  await rejection(session.login());
  assert(take("request").every(({ error, status }) => error === "UNREACHABLE" && !status));
  await session.login({ portalToken: await world.sandbox.portalToken() });
  await rejection(session.authFetch("/v1/stations"));
  await session.authFetch("/v1/stations", { signal: abort.signal }).catch(() => {});
  assertEquals(take("request").map(({ error }) => error), ["API_UNREACHABLE", "canceled"]);
});

Deno.test("the log shows where settings came from, again only if that changed, and no value", () =>
  withEnvironment({ AUTH_TIMEOUT_MS: "2000" }, () =>
    inFolder(async (folder) => {
      const events: LogEvent[] = [];
      const envFile = join(folder, ".env");
      const options = { apiBaseUrl: "https://api.example", envFile };
      const session = createSession({ ...options, log: (event) => void events.push(event) });
      const origins = { API_BASE_URL: "option", AUTH_TIMEOUT_MS: "environment" } as const;
      const first = { event: "settings", file: envFile, exists: false, origins } as const;
      session.status();
      assertEquals(events, [first]);
      session.status();
      assertEquals(events.length, 1);
      await Deno.writeTextFile(envFile, "PORTAL_URL=https://portal.example\n");
      session.status();
      const second = { ...first, exists: true, origins: { ...origins, PORTAL_URL: "file" } };
      assertEquals(events.slice(1), [second as LogEvent]);
    })));

Deno.test("the log shows a wait for another process, and a refresh that it made instead", async () => {
  await using world = await signedIn({ file: true });
  const { clock, envFile } = world;
  clock.advance(3_000);
  const { lock } = await lockEnvFile(envFile, 1_000, clock);
  const events: LogEvent[] = [];
  let refreshElsewhere = async () => {
    refreshElsewhere = () => Promise.resolve();
    lock.release();
    await world.session.refresh();
  };
  const served = world.another({
    envFile,
    log: (event) => void events.push(event),
    sleep: async (ms) => {
      await clock.sleep(ms);
      await refreshElsewhere();
    },
  });
  await statusOf(served.authFetch("/v1/stations"));
  const seen = events.flatMap((each) =>
    each.event === "refresh"
      ? [[each.reason, each.outcome]]
      : each.event === "lock"
      ? [["lock", each.isHeld && each.waitedMs > 0]]
      : []
  );
  assertEquals(seen, [["lock", true], ["due", "served"]]);
});

Deno.test("the log shows how a login and a logout ended", async () => {
  const { world, take } = logging();
  await using _ = world;
  const { session } = world;
  await session.login();
  await session.login();
  const portalToken = await session.accessToken();
  await session.logout();
  await session.login({ portalToken });
  await session.logout();
  assertEquals(take("login", "logout").map(({ event, outcome }) => [event, outcome]), [
    ["login", "password"],
    ["login", "kept"],
    ["logout", "provider"],
    ["login", "portal"],
    ["logout", "here"],
  ]);
});

Deno.test("a listener that throws or rejects changes nothing", async () => {
  let calls = 0;
  const log = () => {
    const error = new Error("of the listener");
    if (++calls % 2 === 0) throw error;
    return Promise.reject(error);
  };
  await using world = await signedIn({ session: { log } });
  world.clock.advance(3_000);
  assertEquals(await statusOf(world.session.authFetch("/v1/stations")), 200);
  assertEquals((await world.session.logout()).ended, "provider");
  assert(calls > 3);
});

Deno.test("an unknown AUTH_LOG is a notice, and an empty or a known one is not", async () => {
  await using world = portless();
  for (const [AUTH_LOG, isKnown] of [["verbose", false], ["", true], [undefined, true]] as const) {
    await withEnvironment({ AUTH_LOG }, () => {
      const { notices } = world.another().status();
      assertEquals(notices.some(({ problem }) => problem.includes("AUTH_LOG")), !isKnown, AUTH_LOG);
    });
  }
});

Deno.test("AUTH_LOG writes lines, also if an error ends the script; a .env cannot set it", () =>
  inFolder(async (cwd) => {
    await using sandbox = await startSandbox();
    await writeEnv(cwd, { ...variablesOf(sandbox.settings), AUTH_LOG: "debug" });
    const script = `
      import { authFetch, login, logout, refresh } from ${JSON.stringify(MOD_PATH)};
      await login();
      await refresh();
      await (await authFetch("/v1/whoami?a=b")).body.cancel();
      await logout();
      await authFetch("/v1/whoami");`;
    const run = async (env: Record<string, string>) => {
      const all = { NO_PROXY: "127.0.0.1", ...env };
      const result = await runScript(script, { cwd, flags: ["-A"], env: all });
      assertEquals(result.stdout, "");
      const lines = result.stderr.split("\n");
      const end = lines.findIndex((line) => line.startsWith("error: "));
      return lines.slice(0, end).map((line) => {
        assertMatch(line, /^platform-auth: \w+ +\S/);
        return line.split(/ +/)[1];
      });
    };
    assertEquals(await run({}), []);
    const info = ["login", "refresh", "logout"];
    assertEquals(await run({ AUTH_LOG: "info" }), info);
    assertEquals(await run({ AUTH_LOG: "debug" }), [
      ...["settings", "request", "login", "request", "refresh", "request", "request", "logout"],
    ]);
  }));
