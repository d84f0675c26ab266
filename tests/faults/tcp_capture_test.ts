import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import inputs from "../data/golden_inputs.json" with { type: "json" };
import secretHashes from "../data/secret_hash_vectors.json" with { type: "json" };
import { SENDS_PER_DROP } from "../support/fault_proxy.ts";
import {
  headerOf,
  parseRaw,
  rawAnswer,
  readGolden,
  startTcpCapture,
} from "../support/tcp_capture.ts";

const VENDOR_TARGET = { "x-vendor-target": "VendorIdentityProviderService.InitiateAuth" };

Deno.test("startTcpCapture() keeps each request byte for byte and answers in turn", async () => {
  await using capture = startTcpCapture([
    rawAnswer(200, '{"é":1}', { "content-type": "application/json" }),
    rawAnswer(429, "", { "retry-after": "7" }),
  ]);
  const body = JSON.stringify({ text: "zoë 🌊 \r\n\r\n" });

  const first = await fetch(capture.url, { method: "POST", headers: VENDOR_TARGET, body });
  assertEquals(await first.json(), { é: 1 });
  const second = await fetch(`${capture.url}path?q=1`);
  assertEquals([second.status, second.headers.get("retry-after"), await second.text()], [
    429,
    "7",
    "",
  ]);
  await assertRejects(() => fetch(capture.url), TypeError);

  const [post, get] = capture.requests.map(parseRaw);
  assertEquals(post?.requestLine, "POST / HTTP/1.1");
  assertEquals(post && headerOf(post, "X-Vendor-Target"), VENDOR_TARGET["x-vendor-target"]);
  assertEquals(new TextDecoder().decode(post?.body), body);
  assertEquals(get?.requestLine, "GET /path?q=1 HTTP/1.1");
  assertEquals(capture.requests.length, 2 + SENDS_PER_DROP);
});

Deno.test("startTcpCapture() keeps a request whose length is not told in advance", async () => {
  await using capture = startTcpCapture([rawAnswer(200, "ok")]);
  const body = new Blob(["one", "-".repeat(50_000), "two"]).stream();
  assertEquals(await (await fetch(capture.url, { method: "POST", body })).text(), "ok");
  const sent = parseRaw(capture.requests[0] ?? new Uint8Array());
  assertEquals(headerOf(sent, "transfer-encoding"), "chunked");
  assertMatch(new TextDecoder().decode(sent.body), /one[^]*two\r\n0\r\n\r\n$/);
});

Deno.test("startTcpCapture() closes while a client is connected and silent", async () => {
  const capture = startTcpCapture([]);
  using client = await Deno.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(capture.url).port),
  });
  await client.write(new TextEncoder().encode("POST / HTTP/1.1\r\n"));
  await capture.close();
  await capture.close();
  assertEquals(capture.requests, []);
});

Deno.test("parseRaw() takes no request with bare line feeds", () => {
  const bytes = new TextEncoder().encode("POST / HTTP/1.1\na: b\n\n{}");
  assertThrows(() => parseRaw(bytes), TypeError);
});

Deno.test("the golden requests hold the inputs, in the order of the API document", async () => {
  const { clientId: ClientId, userPoolId: UserPoolId } = inputs;
  const vector = secretHashes.vectors.find(({ username }) => username === inputs.username);
  const hash = { SECRET_HASH: vector?.hash };
  const login = {
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId,
    UserPoolId,
    AuthParameters: { USERNAME: inputs.username, PASSWORD: inputs.password, ...hash },
  };
  const refresh = { AuthFlow: "REFRESH_TOKEN_AUTH", ClientId, UserPoolId };
  const REFRESH_TOKEN = inputs.refreshToken;
  const expected = {
    "golden_login.http": login,
    "golden_login_aws.http": login,
    "golden_refresh_with_hash.http": { ...refresh, AuthParameters: { REFRESH_TOKEN, ...hash } },
    "golden_refresh_without_hash.http": { ...refresh, AuthParameters: { REFRESH_TOKEN } },
  };
  for (const [name, body] of Object.entries(expected)) {
    const golden = await readGolden(name);
    assertEquals(golden.requestLine, "POST / HTTP/1.1");
    assertEquals(golden.headers.length, 2);
    assertEquals(new TextDecoder().decode(golden.body), JSON.stringify(body), name);
  }
});
