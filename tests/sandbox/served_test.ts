import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { withEnvironment } from "../support/environment.ts";
import { onFreePort } from "../support/free_port.ts";
import { loginBody, refreshBody, vendorHeaders } from "./requests.ts";

async function post(sandbox: Sandbox, body: unknown): Promise<Response> {
  // Each request uses a new connection, because fetch() repeats a POST on a reused one.
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(sandbox.authUrl, {
    method: "POST",
    headers: vendorHeaders(),
    body: JSON.stringify(body),
    client,
  });
  return new Response(await response.text(), response);
}

Deno.test("a simulated failure with `drop` closes the connection without a response", async () => {
  await using sandbox = await startSandbox({ rotateRefreshTokens: true });
  const { AuthenticationResult: result } = await (await post(sandbox, loginBody(sandbox))).json();
  const refresh = () => post(sandbox, refreshBody(sandbox, result.RefreshToken));
  sandbox.failures.push({ at: "token", drop: "before", times: 1 });
  await assertRejects(refresh, TypeError);
  sandbox.failures.push({ at: "token", drop: "during", times: 1 });
  await assertRejects(refresh, TypeError);
  const answer = await refresh();
  assertMatch((await answer.json()).message, /has been revoked/);
  assertEquals(sandbox.requests.map((request) => request.status), [200, 0, 200, 400]);
});

Deno.test("startSandbox({ port }) uses this port and the next two", async () => {
  await onFreePort(async (first) => {
    const port = first + 1;
    await using sandbox = await startSandbox({ port });
    const ports = [sandbox.authUrl, sandbox.portalUrl, sandbox.apiUrl]
      .map((url) => Number(new URL(url).port));
    assertEquals(ports, [port, port + 1, port + 2]);
    await assertRejects(() => startSandbox({ port: first }), Error, `port ${port} of 127.0.0.1`);
    // The refused start has released its first port.
    Deno.listen({ hostname: "127.0.0.1", port: first }).close();
  }, 4);
});

Deno.test("close() frees the ports of the sandbox and ends pending requests", async () => {
  await onFreePort(async (port) => {
    const arrived = Promise.withResolvers<void>();
    // The sandbox reads its clock when a request arrives.
    const now = (): number => {
      arrived.resolve();
      return Date.now();
    };
    const sandbox = await startSandbox({ port, latencyMs: 60_000, now });
    const body = loginBody(sandbox);
    const waiting = assertRejects(() => post(sandbox, body), TypeError);
    await arrived.promise;
    await sandbox.close();
    await waiting;
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    await sandbox.close();
  }, 3);
});

Deno.test("startSandbox() adds the loopback hosts to NO_PROXY", async () => {
  const variables = { NO_PROXY: "intranet.example, localhost", no_proxy: undefined };
  await withEnvironment(variables, async () => {
    for (let count = 0; count < 2; count++) await (await startSandbox()).close();
    assertEquals(Deno.env.get("NO_PROXY"), "intranet.example,localhost,127.0.0.1");
    // On Windows, variable names ignore case: both names are one variable.
    if (Deno.build.os !== "windows") {
      assertEquals(Deno.env.get("no_proxy"), "127.0.0.1,localhost");
    }
  });
});
