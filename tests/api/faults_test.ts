import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type Session } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import {
  type Fault,
  type FaultProxy,
  SENDS_PER_DROP,
  startFaultProxy,
} from "../support/fault_proxy.ts";
import { rejection, signedIn, statusOf } from "../support/portless.ts";

/** Runs with a valid session and an API behind a proxy that injects faults. */
async function withApi(
  work: (session: Session, proxy: FaultProxy, providerRequests: () => number) => Promise<void>,
): Promise<void> {
  await using sandbox = await startSandbox();
  const target = { hostname: "127.0.0.1", port: Number(new URL(sandbox.apiUrl).port) };
  await using proxy = await startFaultProxy({ target });
  const { envFile: _, ...settings } = sandbox.settings;
  const session = createSession({ ...settings, apiBaseUrl: proxy.url });
  await session.login();
  await work(session, proxy, () => sandbox.requests.length - 1);
  assertEquals([session.status().state, session.status().canRefresh], ["valid", true]);
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(() => "no failure", (error) => `${error.name}: ${error.message}`);
}

const broken: [Fault | "refuse", why: string][] = [
  ["resetBefore", "the connection broke"],
  ["resetAfterRequest", "the connection broke"],
  ["closeAfterRequest", "the connection broke"],
  ["refuse", "the connection was refused"],
];
for (const [fault, why] of broken) {
  Deno.test(`${fault} at the API is an error, and the next call succeeds`, async () => {
    await withApi(async (session, proxy, providerRequests) => {
      if (fault === "refuse") proxy.refuse();
      else proxy.plan(Array.from({ length: SENDS_PER_DROP }, () => fault));
      const error = await rejection(session.authFetch("/v1/whoami?key=hidden"));
      assertEquals([error.name, (error.cause as Error).name], ["TypeError", "TypeError"]);
      assert(error.message.includes(`/v1/whoami (${why});`), error.message);
      if (fault === "refuse") await proxy.accept();
      assertEquals(await statusOf(session.authFetch("/v1/whoami")), 200);
      assertEquals(providerRequests(), 0);
    });
  });
}

for (const fault of ["neverAfterRequest", { dripMs: 50 }] as const) {
  const what = typeof fault === "string" ? "no response" : "a response byte by byte";
  Deno.test(`${what} of the API ends with the caller's signal`, async () => {
    await withApi(async (session, proxy, providerRequests) => {
      proxy.plan(fault);
      const signal = AbortSignal.timeout(150);
      const work = async () => await (await session.authFetch("/v1/whoami", { signal })).text();
      assertMatch(await failureOf(work()), /^TimeoutError/);
      assertEquals(providerRequests(), 0);
      assertEquals(await statusOf(session.authFetch("/v1/whoami")), 200);
    });
  });
}

Deno.test("an API without trusted TLS is an error, and receives no token", async () => {
  await using sandbox = await startSandbox();
  const session = createSession({ apiBaseUrl: sandbox.apiUrl.replace("http:", "https:") });
  await session.login({ portalToken: "bearer opaque-token" });
  const told = /^TypeError: Cannot reach https:\S+\/v1\/whoami \(no trusted TLS connection\)/;
  assertMatch(await failureOf(session.authFetch("/v1/whoami")), told);
  assertEquals(sandbox.apiRequests.length, 0);
});

Deno.test("a 429 of the API is returned unchanged, after a single request", async () => {
  await using world = await signedIn();
  world.sandbox.failures.push({ at: "api", status: 429, headers: { "retry-after": "1" } });
  const { status, headers } = await world.session.authFetch("/v1/whoami");
  assertEquals([status, headers.get("retry-after")], [429, "1"]);
  assertEquals([world.called.length, world.refreshes()], [1, 0]);
});

Deno.test("a script that handles its errors ends by itself, and nothing is unhandled", async () => {
  await using sandbox = await startSandbox();
  const target = { hostname: "127.0.0.1", port: Number(new URL(sandbox.authUrl).port) };
  await using proxy = await startFaultProxy({ target });
  proxy.plan(["pass", ...Array.from({ length: 99 }, () => "never" as const)]);
  const { envFile: _, ...settings } = sandbox.settings;
  const options = { ...settings, authUrl: proxy.url };
  const script = `
    import { createSession } from ${JSON.stringify(MOD_PATH)};
    let ahead = 0;
    const now = () => Date.now() + ahead;
    const options = { ...${JSON.stringify(options)}, envFile: ".env", now };
    await createSession(options).login();
    // Takes the session over from the file: only what hangs meets the short deadline.
    const session = createSession({ ...options, timeoutMs: 300 });
    ahead = 3_600_000;
    const told = (error) => console.log(typeof error.code === "string" ? error.code : error.name);
    const signal = AbortSignal.timeout(20);
    await Promise.all([
      session.authFetch("/v1/whoami").catch(told),
      session.authFetch("/v1/whoami", { signal }).catch(told),
      session.accessToken({ signal }).catch(told),
      session.refresh({ signal }).catch(told),
      session.login({ force: true, signal }).catch(told),
    ]);
    // All who wait go away, and nobody looks at what became of it.
    await session.refresh({ signal: AbortSignal.timeout(20) }).catch(told);`;
  await inFolder(async (folder) => {
    const { code, stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"] });
    assertEquals([code, stderr], [0, ""]);
    assertEquals(stdout.trim().split("\n").sort(), [
      "TIMEOUT",
      ...Array.from({ length: 5 }, () => "TimeoutError"),
    ]);
  });
});
