import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  logIn,
  outcome,
  refreshBody,
  sandboxTest,
  send,
  vendorHeaders,
} from "./requests.ts";

const DAY = 86_400;

function refresh(sandbox: Sandbox, token: unknown): Promise<Answer> {
  return send(sandbox, refreshBody(sandbox, token));
}

function getTokens(sandbox: Sandbox, token: unknown, fields: Body = {}): Promise<Answer> {
  const { clientId, clientSecret } = sandbox.settings;
  const body = { ClientId: clientId, ClientSecret: clientSecret, RefreshToken: token, ...fields };
  return send(sandbox, body, { headers: vendorHeaders("GetTokensFromRefreshToken") });
}

const REVOKED = "400 NotAuthorizedException: Refresh Token has been revoked";

sandboxTest(
  "the sandbox refuses an unknown, missing or revoked refresh token and says why",
  {},
  async ({
    sandbox,
  }) => {
    const { RefreshToken, AccessToken } = await logIn(sandbox);
    const invalid = "400 NotAuthorizedException: Invalid Refresh Token";
    assertEquals(outcome(await refresh(sandbox, AccessToken)), invalid);
    assertMatch(
      outcome(await refresh(sandbox, undefined)),
      /Missing required parameter REFRESH_TOKEN/,
    );
    sandbox.revokeRefreshTokens();
    assertEquals(outcome(await refresh(sandbox, RefreshToken)), REVOKED);
    assertEquals(outcome(await refresh(sandbox, (await logIn(sandbox)).RefreshToken)), "200");
  },
);

sandboxTest(
  "with rotation, a refresh replaces the refresh token but does not extend its lifetime",
  {
    rotateRefreshTokens: true,
    refreshDays: 1,
  },
  async ({ sandbox, clock }) => {
    const first = await logIn(sandbox);
    clock.advance(DAY / 2);
    const second = (await refresh(sandbox, first.RefreshToken)).result;
    assertEquals(outcome(await refresh(sandbox, first.RefreshToken)), REVOKED);
    const third = (await refresh(sandbox, second.RefreshToken)).result;
    clock.advance(DAY / 2);
    assertMatch(outcome(await refresh(sandbox, third.RefreshToken)), /has expired/);
  },
);

sandboxTest('rotateRefreshTokens "get-tokens" allows only GetTokensFromRefreshToken', {
  rotateRefreshTokens: "get-tokens",
}, async ({ sandbox }) => {
  const { RefreshToken } = await logIn(sandbox);
  assertEquals(
    outcome(await refresh(sandbox, RefreshToken)),
    "400 InvalidParameterException: REFRESH_TOKEN_AUTH flow not enabled for this client",
  );
  const unauthorized = await getTokens(sandbox, RefreshToken, { ClientSecret: "wrong" });
  assertMatch(outcome(unauthorized), /^400 NotA/);
  const { body, result } = await getTokens(sandbox, RefreshToken);
  assertEquals(Object.keys(body), ["AuthenticationResult"]);
  assertMatch(outcome(await getTokens(sandbox, RefreshToken)), /^400 RefreshTokenReuseException/);
  assertEquals(outcome(await getTokens(sandbox, result.RefreshToken)), "200");
});
