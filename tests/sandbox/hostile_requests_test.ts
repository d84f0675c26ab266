import { assertEquals, assertMatch } from "@std/assert";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { loginBody, vendorHeaders } from "./requests.ts";

const MIB = 1024 * 1024;

type System = "authUrl" | "portalUrl" | "apiUrl";
const SYSTEMS: System[] = ["authUrl", "portalUrl", "apiUrl"];

/** Sends these lines unchanged, and returns the first line of the response. */
async function sendLines(sandbox: Sandbox, system: System, lines: string[]): Promise<string> {
  const { hostname, port } = new URL(sandbox[system]);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const bytes = new Uint8Array(4096);
  const length = await connection.read(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, length)).split("\r\n")[0] ?? "";
}

Deno.test("the sandbox refuses requests for other host names on all its ports", async () => {
  await using sandbox = await startSandbox();
  for (const system of SYSTEMS) {
    const { port } = new URL(sandbox[system]);
    for (
      const host of [
        "evil.example",
        `evil.example:${port}`,
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "",
      ]
    ) {
      const answer = await sendLines(sandbox, system, ["GET / HTTP/1.1", `Host: ${host}`]);
      assertMatch(answer, /^HTTP\/1\.1 (421|400) /, `${system} as "${host}"`);
    }
  }
  assertEquals([sandbox.requests.length, sandbox.apiRequests.length], [0, 0]);
});

Deno.test("the sandbox answers to localhost, 127.0.0.1 and [::1], with or without a port", async () => {
  await using sandbox = await startSandbox();
  for (const name of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"]) {
    for (const host of [name, `${name}:${new URL(sandbox.apiUrl).port}`, `${name}:9`]) {
      const lines = ["GET /health HTTP/1.1", `Host: ${host}`];
      assertEquals(await sendLines(sandbox, "apiUrl", lines), "HTTP/1.1 200 OK", host);
    }
  }
});

const ODD_LINES = [
  "TRACE / HTTP/1.1",
  "CONNECT files.example:443 HTTP/1.1",
  "GET * HTTP/1.1",
  "GET http://files.example/ HTTP/1.1",
  "GET //files.example/x HTTP/1.1",
  "GET /\\files.example/x HTTP/1.1",
  "GET /v1/stations/%E0%A4%A HTTP/1.1",
  "GET /../../etc/passwd HTTP/1.1",
  "PROPFIND / HTTP/1.1",
];
// The server resets the connection of a request that it does not read to its end, and Windows then
// drops the response.
if (Deno.build.os !== "windows") ODD_LINES.push(`GET /${"x".repeat(100_000)} HTTP/1.1`);

Deno.test("the sandbox refuses odd methods and targets with a 4xx status", async () => {
  await using sandbox = await startSandbox();
  for (const system of SYSTEMS) {
    for (const line of ODD_LINES) {
      const answer = await sendLines(sandbox, system, [line, "Host: localhost"]);
      assertMatch(answer, /^HTTP\/1\.1 4\d\d /, `${system}: ${line.slice(0, 60)}`);
    }
  }
  assertEquals((await (await fetch(`${sandbox.apiUrl}/health`)).json()).status, "ok");
});

/** A body of unannounced length, in chunks of 64 KiB. */
function streamOf(bytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(Math.min(left, 65_536)));
      left -= 65_536;
      if (left <= 0) controller.close();
    },
  });
}

async function post(url: string, body: BodyInit, headers: HeadersInit = {}): Promise<Response> {
  const answer = await fetch(url, { method: "POST", body, headers, redirect: "manual" });
  return new Response(await answer.text(), answer);
}

Deno.test("the provider and the portal accept a body of 1 MiB and refuse a larger one with 413", async () => {
  await using sandbox = await startSandbox();
  const [token, form] = [sandbox.authUrl, `${sandbox.portalUrl}/login`];
  for (const url of [token, form]) {
    assertEquals((await post(url, new Uint8Array(MIB))).status < 413, true);
    for (const body of [new Uint8Array(MIB + 1), streamOf(MIB + 1), streamOf(Infinity)]) {
      const answer = await post(url, body);
      assertEquals(answer.status, 413);
      assertMatch((await answer.json()).message, /larger than 1 MiB; send a smaller one/);
    }
  }
  // Only the small body reached the provider, which still works.
  assertEquals(sandbox.requests.length, 1);
  const login = await post(token, JSON.stringify(loginBody(sandbox)), vendorHeaders());
  assertEquals(login.status, 200);
});
