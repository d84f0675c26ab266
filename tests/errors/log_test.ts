/** The log of a session: events for a program, or lines on standard error. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { createSession, type LogEvent } from "../../mod.ts";
import { lineOf, logTo } from "../../src/platform/log.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { refusedConnection } from "../support/answers.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import { type PortlessOptions, rejection, signedIn, statusOf } from "../support/portless.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

/** A session that is signed in and keeps its events. */
async function logging(options: PortlessOptions = {}) {
  const events: LogEvent[] = [];
  const log = (event: LogEvent) => void events.push(event);
  const world = await signedIn({ ...options, session: { log, ...options.session } });
  /** Returns the events with these names and forgets all events so far. */
  const take = (...names: LogEvent["event"][]) =>
    events.splice(0).filter(({ event }) => names.includes(event)) as Record<string, unknown>[];
  return { ...world, take };
}

Deno.test("the log shows the reason and the outcome of each refresh", async () => {
  let rejects = false;
  await using world = await logging({
    api: () => new Response(null, { status: rejects ? 401 : 200 }),
  });
  const { clock, session } = world;
  const call = () => statusOf(session.authFetch("/v1/stations"));

  await call();
  await session.refresh();
  clock.advance(1_750);
  await call();
  clock.advance(3_000);
  await Promise.all([call(), call()]);
  rejects = true;
  await call();
  rejects = false;
  clock.advance(1_750);
  world.sandbox.failures.push({ at: "token", status: 500 });
  assertEquals(await call(), 200);
  assertEquals(world.take("refresh").map(({ reason, outcome }) => [reason, outcome]), [
    ["forced", "refreshed"],
    ["early", "refreshed"],
    ["due", "refreshed"],
    ["rejected", "refreshed"],
    ["early", "SERVER_ERROR"],
  ]);
});

Deno.test("the log shows the status and the attempt of each request, without the query", async () => {
  const reason = "the API responded with 503";
  await using world = await logging();
  const { sandbox: { apiUrl, authUrl, failures }, session, take } = world;
  failures.push({ at: "api", status: 503, headers: { "retry-after": "3" }, times: 1 });
  await session.fetchJson("/v1/stations?near=gull-harbor");
  const api = { event: "request", to: "api", method: "GET", url: `${apiUrl}/v1/stations` };
  assertEquals(take("request", "pause"), [
    {
      ...{ event: "request", to: "provider", flow: "login", method: "POST" },
      ...{ url: `${authUrl}/`, status: 200, milliseconds: 0, attempt: 1 },
    },
    { ...api, status: 503, milliseconds: 0, attempt: 1 },
    { event: "pause", pauseMs: Math.round(world.pauses[0] ?? 0), reason },
    { ...api, status: 200, milliseconds: 0, attempt: 2 },
  ]);
});

Deno.test("the log shows the status of a request of doctor()", async () => {
  await using world = await logging({ api: () => new Response(null, { status: 204 }) });
  await world.session.doctor();
  assertEquals(world.take("request").at(-1)?.status, 204);
});

Deno.test("the log shows only the origin of the address to which a request is redirected", async () => {
  await using world = await logging({
    api: ({ url }) =>
      url.includes("/signed-") ? new Response("data") : new Response(null, {
        status: 302,
        headers: { location: "https://files.example/signed-path/data?signature=1" },
      }),
  });
  world.take();
  await statusOf(world.session.authFetch("/v1/file"));
  assertEquals(world.take("request").map(({ url, status }) => [url, status]), [
    [`${world.sandbox.apiUrl}/v1/file`, 302],
    ["https://files.example/…", 200],
  ]);
});

Deno.test("the log shows the error of a request without a response", async () => {
  await using world = await logging({ api: refusedConnection });
  await rejection(world.session.authFetch("/v1/stations"));
  world.sandbox.failures.push({ at: "token", drop: "before", times: 99 });
  await rejection(world.session.refresh());
  const errors = world.take("request").map(({ error }) => error).filter((error) => error);
  assertEquals([...new Set(errors)], ["API_UNREACHABLE", "UNREACHABLE"]);
});

Deno.test("the log shows the source of each setting, and again after a change", () =>
  withEnvironment({ AUTH_TIMEOUT_MS: "2000" }, () =>
    inFolder(async (folder) => {
      const events: LogEvent[] = [];
      const envFile = join(folder, ".env");
      const log = (event: LogEvent) => void events.push(event);
      const session = createSession({ apiBaseUrl: "https://api.example", envFile, log });
      session.status();
      session.status();
      await Deno.writeTextFile(envFile, "PORTAL_URL=https://portal.example\n");
      session.status();
      const origins = { API_BASE_URL: "option", AUTH_TIMEOUT_MS: "environment" } as const;
      const first = { event: "settings", file: envFile, exists: false, origins } as const;
      const second = { ...first, exists: true, origins: { ...origins, PORTAL_URL: "file" } };
      assertEquals(events, [first, second as LogEvent]);
    })));

Deno.test("the session ignores the errors of a `log` function", async () => {
  let calls = 0;
  const log = () => {
    const error = new Error("of the log");
    if (++calls % 2 === 0) throw error;
    return Promise.reject(error);
  };
  await using world = await signedIn({ session: { log } });
  assertEquals((await world.session.logout()).ended, "provider");
  assert(calls > 3);
});

Deno.test("a line of the log has the time, the name of the event and its fields", () => {
  const time = new Date("2026-01-15T09:30:00.250Z");
  const reason = 'the "API"\nresponded\u202e';
  assertEquals(
    lineOf({ event: "pause", pauseMs: 250, reason }, time),
    '2026-01-15T09:30:00.250Z platform-auth: pause pauseMs=250 reason="the \\"API\\"\\nresponded"',
  );
});

Deno.test("AUTH_LOG works in the environment, but not in a .env", () =>
  inFolder(async (cwd) => {
    for (const AUTH_LOG of ["", "0", "off", "False"]) {
      await withEnvironment({ AUTH_LOG }, () => assertEquals(logTo(undefined), undefined));
    }
    await using sandbox = await startSandbox();
    await writeEnv(cwd, { ...variablesOf(sandbox.settings), AUTH_LOG: "1" });
    const script = `
      import { authFetch, login } from ${JSON.stringify(MOD_PATH)};
      await login({ force: true });
      await (await authFetch("/v1/whoami?a=b")).body.cancel();`;
    const run = async (variables: Record<string, string>) => {
      const env = { NO_PROXY: "127.0.0.1", ...variables };
      const { stdout, stderr } = await runScript(script, { cwd, flags: ["-A"], env });
      assertEquals(stdout, "");
      return stderr.replaceAll(/^20\S+T\S+Z platform-auth: (\w+) \S.*$/gm, "$1");
    };
    assertEquals(await run({}), "");
    assertEquals(await run({ AUTH_LOG: "1" }), "settings\nrequest\nlogin\nrequest\n");
  }));
