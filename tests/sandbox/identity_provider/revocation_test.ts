import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  callApi,
  fault,
  logIn,
  refreshBody,
  sandboxTest,
  send,
} from "../requests.ts";
import { enter, operate } from "./steps.ts";

const REVOKED = "400 NotAuthorizedException: Refresh Token has been revoked";

function revoke(sandbox: Sandbox, Token: unknown, fields: Body = {}): Promise<Answer> {
  const { clientSecret } = sandbox.settings;
  return operate(sandbox, "RevokeToken", { Token, ClientSecret: clientSecret, ...fields });
}

function signOut(sandbox: Sandbox, AccessToken: unknown): Promise<Answer> {
  return operate(sandbox, "GlobalSignOut", { ClientId: undefined, AccessToken });
}

async function refresh(sandbox: Sandbox, token: unknown): Promise<string> {
  const answer = await send(sandbox, refreshBody(sandbox, token));
  return answer.status === 200 ? "200" : fault(answer);
}

sandboxTest("RevokeToken ends one login and may be repeated", {}, async ({ sandbox }) => {
  const logins = [1, 2].map(() => enter(sandbox));
  const [mine, other] = (await Promise.all(logins)).map(({ result }) => result);
  for (let time = 0; time < 2; time++) {
    const { status, body } = await revoke(sandbox, mine?.RefreshToken);
    assertEquals([status, body], [200, {}]);
  }
  const again = (token: unknown) => operate(sandbox, "InitiateAuth", refreshBody(sandbox, token));
  assertEquals(fault(await again(mine?.RefreshToken)), REVOKED);
  assertEquals((await again(other?.RefreshToken)).status, 200);
  // The API checks the signature only; the provider knows better.
  assertEquals((await callApi(sandbox, "/v1/whoami", mine?.AccessToken)).status, 200);
  assertMatch(
    fault(await signOut(sandbox, mine?.AccessToken)),
    /Access Token has been revoked/,
  );
});

sandboxTest(
  "RevokeToken refuses other tokens and clients, and takes an unknown token",
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
    assertEquals(await refresh(sandbox, RefreshToken), "200");
  },
);
