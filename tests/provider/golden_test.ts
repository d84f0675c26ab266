import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import inputs from "../support/data/golden_inputs.json" with { type: "json" };
import { headerOf, parseRaw, rawAnswer, type RawRequest, record } from "../support/raw_http.ts";

const { refreshToken, ...settings } = inputs;

const ANSWER = rawAnswer(
  200,
  JSON.stringify({
    AuthenticationResult: { AccessToken: "opaque-token", RefreshToken: refreshToken },
    ChallengeParameters: {},
  }),
  { "content-type": "application/x-vendor-json-1.1" },
);

/** Reads a golden file. Its lines end with LF, and so does its body. */
async function readGolden(name: string): Promise<RawRequest> {
  const text = await Deno.readTextFile(new URL(`../support/data/${name}`, import.meta.url));
  const wire = text.replaceAll(/\r?\n/g, "\r\n").replace(/\r\n$/, "");
  return parseRaw(new TextEncoder().encode(wire));
}

/** Asserts that the work sends `count` requests, and that the last one equals the golden file. */
async function assertSends(
  golden: string,
  work: (authUrl: string) => Promise<unknown>,
  count = 1,
): Promise<void> {
  await using provider = record(ANSWER);
  await work(provider.origin);
  const wanted = await readGolden(golden);
  assertEquals(provider.requests.length, count);
  const sent = parseRaw(provider.requests.at(-1) ?? new Uint8Array());
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

const { username, password, ...unnamed } = settings;
const AWS = {
  targetHeader: "x-amz-target",
  service: "AWSCognitoIdentityProviderService",
  contentType: "application/x-amz-json-1.1",
};

const login = (options: SessionOptions) => (authUrl: string) =>
  createSession({ ...settings, ...options, authUrl }).login();
const refresh = (options: SessionOptions) => (authUrl: string) => refreshStored(authUrl, options);

const REQUESTS: [what: string, golden: string, work: (authUrl: string) => Promise<unknown>][] = [
  ["a login", "login", login({})],
  [
    "a login with user name and password as arguments",
    "login",
    (authUrl) => createSession({ ...unnamed, authUrl }).login({ username, password }),
  ],
  ["a login with the protocol names of aws", "login_aws", login({ provider: "aws" })],
  ["a login with protocol names as options", "login_aws", login({ provider: AWS })],
  ["a refresh with SECRET_HASH", "refresh_with_hash", refresh({ refreshSecretHash: "send" })],
  ["a refresh by default", "refresh_with_hash", refresh({})],
  ["a refresh without SECRET_HASH", "refresh_without_hash", refresh({ refreshSecretHash: "omit" })],
  ["a refresh of a public client", "refresh_without_hash", refresh({ clientSecret: "" })],
];
for (const [what, golden, work] of REQUESTS) {
  Deno.test(`${what} sends the request in golden_${golden}.http`, () =>
    assertSends(`golden_${golden}.http`, work));
}

Deno.test("a refresh after a login with arguments sends the request in golden_refresh_with_hash.http", () =>
  assertSends("golden_refresh_with_hash.http", async (authUrl) => {
    // The token is opaque, so the session knows the user name only from the login.
    const session = createSession({ ...unnamed, authUrl });
    await session.login({ username, password });
    await session.refresh();
  }, 2));
