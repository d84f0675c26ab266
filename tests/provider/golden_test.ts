import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import inputs from "../data/golden_inputs.json" with { type: "json" };
import {
  headerOf,
  parseRaw,
  rawAnswer,
  readGolden,
  startTcpCapture,
} from "../support/tcp_capture.ts";

const { refreshToken, ...settings } = inputs;

const ANSWER = rawAnswer(
  200,
  JSON.stringify({
    AuthenticationResult: { AccessToken: "opaque-token", RefreshToken: refreshToken },
    ChallengeParameters: {},
  }),
  { "content-type": "application/x-vendor-json-1.1" },
);

/** Holds the last request that the work sends, by default the only one, against a golden one. */
async function assertSends(
  golden: string,
  work: (authUrl: string) => Promise<unknown>,
  count = 1,
): Promise<void> {
  await using capture = startTcpCapture(new Array(count).fill(ANSWER));
  await work(capture.url);
  const wanted = await readGolden(golden);
  assertEquals(capture.requests.length, count);
  const sent = parseRaw(capture.requests.at(-1) ?? new Uint8Array());
  assertEquals(sent.requestLine, wanted.requestLine);
  for (const [name, value] of wanted.headers) assertEquals(headerOf(sent, name), value, name);
  assertEquals(new TextDecoder().decode(sent.body), new TextDecoder().decode(wanted.body));
  assertEquals(sent.body, wanted.body);
  const names = sent.headers.map(([name]) => name.toLowerCase());
  assertEquals(new Set(names).size, names.length, "a header is sent twice");
  for (const name of ["authorization", "cookie", "referer", "origin"]) {
    assertEquals(headerOf(sent, name), undefined);
  }
}

async function refreshStored(authUrl: string, options: SessionOptions): Promise<void> {
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await Deno.writeTextFile(envFile, `REFRESH_TOKEN=${refreshToken}\n`);
    const status = await createSession({ ...settings, authUrl, envFile, ...options }).refresh();
    assertEquals(status.source, "refresh");
  });
}

Deno.test("login() sends the golden request", () =>
  assertSends("golden_login.http", (authUrl) => createSession({ ...settings, authUrl }).login()));

Deno.test("login() sends the golden request also with user name and password as arguments", () =>
  assertSends("golden_login.http", (authUrl) => {
    const { username, password, ...rest } = settings;
    return createSession({ ...rest, authUrl }).login({ username, password });
  }));

Deno.test("login() sends the golden request in the words aws", () =>
  assertSends(
    "golden_login_aws.http",
    (authUrl) => createSession({ ...settings, authUrl, provider: "aws" }).login(),
  ));

Deno.test("login() sends the golden request in words of the caller's own", () =>
  assertSends("golden_login_aws.http", (authUrl) => {
    const provider = {
      targetHeader: "x-amz-target",
      service: "AWSCognitoIdentityProviderService",
      contentType: "application/x-amz-json-1.1",
    };
    return createSession({ ...settings, authUrl, provider }).login();
  }));

Deno.test("refresh() sends the golden request with SECRET_HASH", () =>
  assertSends(
    "golden_refresh_with_hash.http",
    (authUrl) => refreshStored(authUrl, { refreshSecretHash: "send" }),
  ));

Deno.test("refresh() sends the variant with SECRET_HASH first by default", () =>
  assertSends("golden_refresh_with_hash.http", (authUrl) => refreshStored(authUrl, {})));

Deno.test("refresh() sends the golden request without SECRET_HASH", () =>
  assertSends(
    "golden_refresh_without_hash.http",
    (authUrl) => refreshStored(authUrl, { refreshSecretHash: "omit" }),
  ));

Deno.test("refresh() of a public client sends no SECRET_HASH", () =>
  assertSends(
    "golden_refresh_without_hash.http",
    (authUrl) => refreshStored(authUrl, { clientSecret: "" }),
  ));

Deno.test("refresh() after a login by arguments sends the golden request with SECRET_HASH", () =>
  assertSends("golden_refresh_with_hash.http", async (authUrl) => {
    // The token is opaque, so only the login tells the name.
    const { username, password, ...rest } = settings;
    const session = createSession({ ...rest, authUrl });
    await session.login({ username, password });
    await session.refresh();
  }, 2));
