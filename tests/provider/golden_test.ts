import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { createServer } from "node:http"; // Deno.serve() joins headers of the same name.
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { inFolder } from "../support/child_deno.ts";
import inputs from "../support/data/golden_inputs.json" with { type: "json" };

const { refreshToken, ...settings } = inputs;

/** A request as it was sent. */
interface Sent {
  readonly line: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Reads a golden file. */
async function readGolden(name: string): Promise<Sent> {
  const golden = await Deno.readTextFile(new URL(`../support/data/${name}`, import.meta.url));
  const [head = "", body = ""] = golden.replaceAll("\r", "").trimEnd().split("\n\n");
  const [line = "", ...lines] = head.split("\n");
  const headers = lines.map((header) => {
    const [name = "", value = ""] = header.split(": ");
    return [name.toLowerCase(), value] as const;
  });
  return { line, headers, body };
}

/** Returns what the work sends to a provider that issues tokens. */
async function sentBy(work: (authUrl: string) => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  const tokens = { AccessToken: "opaque-token", RefreshToken: refreshToken };
  const provider = createServer(async (request, response) => {
    const { method, url, httpVersion, rawHeaders } = request;
    const headers = [];
    for (let at = 0; at < rawHeaders.length; at += 2) {
      headers.push([`${rawHeaders[at]}`.toLowerCase(), `${rawHeaders[at + 1]}`] as const);
    }
    sent.push({ line: `${method} ${url} HTTP/${httpVersion}`, headers, body: await text(request) });
    response.end(JSON.stringify({ AuthenticationResult: tokens, ChallengeParameters: {} }));
  });
  await new Promise<void>((listening) => provider.listen(0, "127.0.0.1", listening));
  try {
    await work(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
  } finally {
    provider.closeAllConnections();
    await new Promise((closed) => provider.close(closed));
  }
  return sent;
}

/** Asserts that the work sends `count` requests, and that the last one equals the golden file. */
async function assertSends(
  golden: string,
  work: (authUrl: string) => Promise<unknown>,
  count = 1,
): Promise<void> {
  const all = await sentBy(work);
  assertEquals(all.length, count);
  const wanted = await readGolden(golden);
  const { line, headers = [], body } = all.at(-1) ?? {};
  assertEquals([line, body], [wanted.line, wanted.body]);
  const sent = new Map(headers);
  for (const [name, value] of wanted.headers) assertEquals(sent.get(name), value, name);
  assertEquals(sent.size, headers.length, "a header is sent twice");
  for (const name of ["authorization", "cookie", "referer", "origin"]) {
    assertEquals(sent.has(name), false, name);
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
