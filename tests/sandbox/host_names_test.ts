import { assertEquals, assertMatch } from "@std/assert";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";

const SYSTEMS = ["authUrl", "portalUrl", "apiUrl"] as const;

/** Sends a request for this host name, and returns the first line of the response. */
async function askFor(host: string, sandbox: Sandbox, system: typeof SYSTEMS[number]) {
  const { hostname, port } = new URL(sandbox[system]);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(lines));
  const bytes = new Uint8Array(4096);
  const length = await connection.read(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, length)).split("\r\n")[0] ?? "";
}

Deno.test("the sandbox refuses requests for other host names on all its ports", async () => {
  await using sandbox = await startSandbox();
  const { port } = new URL(sandbox.apiUrl);
  const foreign = [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1.evil.example",
  ];
  for (const system of SYSTEMS) {
    for (const host of foreign) {
      assertMatch(await askFor(host, sandbox, system), /^HTTP\/1\.1 (421|400) /, host);
    }
  }
  assertEquals([sandbox.requests.length, sandbox.apiRequests.length], [0, 0]);
  for (const host of ["127.0.0.1", "LOCALHOST", "[::1]", `localhost:${port}`]) {
    assertEquals(await askFor(host, sandbox, "apiUrl"), "HTTP/1.1 200 OK", host);
  }
});
