import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  callApi,
  fault,
  logIn,
  portalCookie,
  refreshBody,
  sandboxTest,
  send,
} from "../requests.ts";
import { operate } from "./steps.ts";

const REVOKED = "400 NotAuthorizedException: Refresh Token has been revoked";

function revoke(sandbox: Sandbox, Token: unknown, fields: Body = {}): Promise<Answer> {
  const { clientSecret } = sandbox.settings;
  return operate(sandbox, "RevokeToken", { Token, ClientSecret: clientSecret, ...fields });
}

async function tryRefresh(sandbox: Sandbox, token: unknown): Promise<string> {
  const answer = await send(sandbox, refreshBody(sandbox, token));
  return answer.status === 200 ? "200" : fault(answer);
}

async function tryApi(sandbox: Sandbox, token?: string | number): Promise<number> {
  return (await callApi(sandbox, "/v1/whoami", token)).status;
}

async function tryPortal(sandbox: Sandbox, cookie: string): Promise<number> {
  return (await sandbox.handle(new Request(sandbox.portalUrl, { headers: { cookie } }))).status;
}

sandboxTest(
  "RevokeToken ends only the login of its token, and can be repeated",
  {},
  async ({ sandbox }) => {
    const { AccessToken, RefreshToken } = await logIn(sandbox);
    const other = await logIn(sandbox);
    for (let time = 0; time < 2; time++) {
      const { status, body } = await revoke(sandbox, RefreshToken);
      assertEquals([status, body], [200, {}]);
    }
    assertEquals(await tryRefresh(sandbox, RefreshToken), REVOKED);
    assertEquals(await tryRefresh(sandbox, other.RefreshToken), "200");
    // The API checks only the signature, so it still accepts the access token.
    assertEquals(await tryApi(sandbox, AccessToken), 200);
    const signOut = await operate(sandbox, "GlobalSignOut", { ClientId: undefined, AccessToken });
    assertMatch(fault(signOut), /Access Token has been revoked/);
  },
);

sandboxTest(
  "RevokeToken refuses an access token or a wrong client, but accepts an unknown token",
  {},
  async ({ sandbox }) => {
    const { RefreshToken, AccessToken } = await logIn(sandbox);
    const unauthorized = "400 UnauthorizedException: ";
    const cases: [unknown, Body, string][] = [
      [AccessToken, {}, "400 UnsupportedTokenTypeException: Unsupported token type"],
      [RefreshToken, { ClientSecret: "x" }, `${unauthorized}Unable to verify secret for client`],
      [RefreshToken, { ClientSecret: undefined }, `${unauthorized}Client sandboxclient`],
      [RefreshToken, { ClientId: "other" }, "400 ResourceNotFoundException"],
      ["", {}, "400 InvalidParameterException: Missing required parameter Token"],
    ];
    for (const [token, fields, expected] of cases) {
      const { length } = expected;
      assertEquals(fault(await revoke(sandbox, token, fields)).slice(0, length), expected);
    }
    assertEquals((await revoke(sandbox, "x".repeat(256))).status, 200);
    assertEquals(await tryRefresh(sandbox, RefreshToken), "200");
  },
);

sandboxTest("signOutEverywhere() ends all existing sessions, but no later ones", {
  rotateRefreshTokens: true,
}, async ({ sandbox }) => {
  const login = await logIn(sandbox);
  const { result } = await send(sandbox, refreshBody(sandbox, login.RefreshToken));
  const portalToken = (await sandbox.portalToken()).replace("bearer ", "");
  const cookie = await portalCookie(sandbox);
  sandbox.signOutEverywhere();
  assertEquals(await tryRefresh(sandbox, result.RefreshToken), REVOKED);
  for (const token of [login.AccessToken, result.AccessToken, portalToken]) {
    assertEquals(await tryApi(sandbox, token), 401);
  }
  assertEquals(await tryPortal(sandbox, cookie), 303);

  const { AccessToken, RefreshToken } = await logIn(sandbox);
  assertEquals(await tryApi(sandbox, AccessToken), 200);
  assertEquals(await tryRefresh(sandbox, RefreshToken), "200");
  assertEquals(await tryPortal(sandbox, await portalCookie(sandbox)), 200);
  assertThrows(() => sandbox.signOutEverywhere("nobody"), TypeError, "addUser()");
});
