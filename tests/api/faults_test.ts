import { assert, assertEquals } from "@std/assert";
import { createSession, type Session } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { type FaultProxy, SENDS_PER_DROP, startFaultProxy } from "../support/fault_proxy.ts";
import { rejection, statusOf } from "../support/portless.ts";

/** Runs with a session whose API is behind a proxy that injects faults. */
async function withApi(
  work: (session: Session, proxy: FaultProxy) => Promise<void>,
): Promise<void> {
  await using sandbox = await startSandbox();
  const target = { hostname: "127.0.0.1", port: Number(new URL(sandbox.apiUrl).port) };
  await using proxy = await startFaultProxy({ target });
  const { envFile: _, ...settings } = sandbox.settings;
  const session = createSession({ ...settings, apiBaseUrl: proxy.url });
  await session.login();
  await work(session, proxy);
  assertEquals([session.status().state, sandbox.requests.length], ["valid", 1]);
}

for (const fault of ["resetAfterRequest", "refuse"] as const) {
  const why = fault === "refuse" ? "the connection was refused" : "the connection broke";
  Deno.test(`authFetch() reports that ${why}, and the session stays usable`, () =>
    withApi(async (session, proxy) => {
      if (fault === "refuse") proxy.refuse();
      else proxy.plan(Array.from({ length: SENDS_PER_DROP }, () => fault));
      const error = await rejection(session.authFetch("/v1/whoami?key=hidden"));
      assertEquals([error.name, (error.cause as Error).name], ["TypeError", "TypeError"]);
      assert(error.message.includes(`/v1/whoami (${why});`), error.message);
      if (fault === "refuse") await proxy.accept();
      assertEquals(await statusOf(session.authFetch("/v1/whoami")), 200);
    }));
}

for (const fault of ["neverAfterRequest", { dripMs: 50 }] as const) {
  const what = typeof fault === "string" ? "no response arrives" : "the body arrives slowly";
  Deno.test(`the caller's signal ends authFetch() if ${what}`, () =>
    withApi(async (session, proxy) => {
      proxy.plan(fault);
      const signal = AbortSignal.timeout(150);
      const work = async () => await (await session.authFetch("/v1/whoami", { signal })).text();
      assertEquals((await rejection(work())).name, "TimeoutError");
      assertEquals(await statusOf(session.authFetch("/v1/whoami")), 200);
    }));
}
