import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { decodeJwt } from "npm:jose@^6";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  fault,
  hash,
  logIn,
  loginBody,
  refreshBody,
  sandboxTest,
  send,
  vendorHeaders,
} from "./requests.ts";

const DAY = 86_400;

function refresh(sandbox: Sandbox, token: unknown, parameters: Body = {}): Promise<Answer> {
  return send(sandbox, refreshBody(sandbox, token, parameters));
}

function getTokens(sandbox: Sandbox, token: unknown, fields: Body = {}): Promise<Answer> {
  const { clientId, clientSecret } = sandbox.settings;
  const body = { ClientId: clientId, ClientSecret: clientSecret, RefreshToken: token, ...fields };
  return send(sandbox, body, { headers: vendorHeaders("GetTokensFromRefreshToken") });
}

sandboxTest(
  "a refresh token is valid for the configured days after the login",
  { refreshDays: 2 },
  async ({ sandbox, clock }) => {
    const { RefreshToken } = await logIn(sandbox);
    clock.advance(2 * DAY - 1);
    assertEquals((await refresh(sandbox, RefreshToken)).status, 200);
    clock.advance(1);
    assertEquals(
      fault(await refresh(sandbox, RefreshToken)),
      "400 NotAuthorizedException: Refresh Token has expired",
    );
  },
);

sandboxTest(
  "refresh refuses unknown, missing and revoked tokens by name",
  {},
  async ({ sandbox }) => {
    const { RefreshToken, AccessToken } = await logIn(sandbox);
    const invalid = "400 NotAuthorizedException: Invalid Refresh Token";
    assertEquals(fault(await refresh(sandbox, AccessToken)), invalid);
    assertEquals(fault(await refresh(sandbox, `${RefreshToken}x`)), invalid);
    assertMatch(
      fault(await refresh(sandbox, undefined)),
      /Missing required parameter REFRESH_TOKEN/,
    );
    sandbox.revokeRefreshTokens();
    assertEquals(
      fault(await refresh(sandbox, RefreshToken)),
      "400 NotAuthorizedException: Refresh Token has been revoked",
    );
    assertEquals((await refresh(sandbox, (await logIn(sandbox)).RefreshToken)).status, 200);
  },
);

const HASH_RULES: ["optional" | "required" | "forbidden", boolean[]][] = [
  // Accepted: without a hash, with a right one, with a wrong one.
  ["optional", [true, true, false]],
  ["required", [false, true, false]],
  ["forbidden", [true, false, false]],
];

for (const [rule, accepted] of HASH_RULES) {
  sandboxTest(`refresh with refreshSecretHash "${rule}" judges SECRET_HASH`, {
    refreshSecretHash: rule,
  }, async ({ sandbox }) => {
    const { RefreshToken } = await logIn(sandbox);
    const variants = [{}, { SECRET_HASH: hash(sandbox, sandbox.settings.username) }, {
      SECRET_HASH: hash(sandbox, "someone"),
    }];
    for (const [index, parameters] of variants.entries()) {
      const answer = await refresh(sandbox, RefreshToken, parameters);
      if (accepted[index]) assertEquals(answer.status, 200);
      else assertMatch(fault(answer), /^400 NotAuthorizedException: .*(SecretHash|SECRET_HASH)/);
    }
  });
}

sandboxTest("aliasSignIn hashes the e-mail on login and the provider's name on refresh", {
  aliasSignIn: true,
}, async ({ sandbox }) => {
  const { username } = sandbox.settings;
  assertMatch(username, /@/);
  const { AccessToken, RefreshToken } = await logIn(sandbox);
  const known = decodeJwt(String(AccessToken)).username;
  assertMatch(String(known), /^[0-9a-f-]{36}$/);
  const byEmail = await refresh(sandbox, RefreshToken, { SECRET_HASH: hash(sandbox, username) });
  assertMatch(fault(byEmail), /SecretHash does not match for the client/);
  const byName = await refresh(sandbox, RefreshToken, {
    SECRET_HASH: hash(sandbox, String(known)),
  });
  assertEquals(byName.status, 200);
  const wrongOnLogin = loginBody(sandbox, { SECRET_HASH: hash(sandbox, String(known)) });
  assertMatch(fault(await send(sandbox, wrongOnLogin)), /Unable to verify secret hash/);
});

sandboxTest("rotation replaces a refresh token at once", {
  rotateRefreshTokens: true,
  refreshDays: 1,
}, async ({ sandbox, clock }) => {
  const first = await logIn(sandbox);
  clock.advance(DAY / 2);
  const second = await refresh(sandbox, first.RefreshToken);
  assertNotEquals(second.result.RefreshToken, first.RefreshToken);
  assertEquals(
    fault(await refresh(sandbox, first.RefreshToken)),
    "400 NotAuthorizedException: Refresh Token has been revoked",
  );
  const third = await refresh(sandbox, second.result.RefreshToken);
  assertEquals(third.status, 200);
  clock.advance(DAY / 2);
  assertMatch(fault(await refresh(sandbox, third.result.RefreshToken)), /has expired/);
});

const ROTATIONS = [["initiate-auth", refresh, /has been revoked/], [
  "get-tokens",
  getTokens,
  /RefreshTokenReuseException/,
]] as const;

for (const [rotateRefreshTokens, use, refused] of ROTATIONS) {
  const name = `rotateRefreshTokens "${rotateRefreshTokens}"`;

  sandboxTest(`${name}: a fork ends what came of the other successor, too`, {
    rotateRefreshTokens,
    graceSeconds: 10,
  }, async ({ sandbox }) => {
    const { RefreshToken } = await logIn(sandbox);
    const child = (await use(sandbox, RefreshToken)).result.RefreshToken;
    const grandchild = (await use(sandbox, child)).result.RefreshToken;
    const fork = (await use(sandbox, RefreshToken)).result.RefreshToken;
    for (const old of [child, grandchild]) assertMatch(fault(await use(sandbox, old)), refused);
    assertEquals((await use(sandbox, fork)).status, 200);
  });
}

sandboxTest('rotateRefreshTokens "get-tokens" refreshes by GetTokensFromRefreshToken only', {
  rotateRefreshTokens: "get-tokens",
}, async ({ sandbox }) => {
  const { RefreshToken } = await logIn(sandbox);
  assertEquals(
    fault(await refresh(sandbox, RefreshToken)),
    "400 InvalidParameterException: REFRESH_TOKEN_AUTH flow not enabled for this client",
  );
  assertMatch(
    fault(await getTokens(sandbox, RefreshToken, { ClientSecret: "wrong" })),
    /^400 NotA/,
  );
  assertMatch(
    fault(await getTokens(sandbox, RefreshToken, { ClientSecret: undefined })),
    /configured for secret but secret was not received/,
  );
  const { status, body, result } = await getTokens(sandbox, RefreshToken);
  assertEquals([status, Object.keys(body)], [200, ["AuthenticationResult"]]);
  assertNotEquals(result.RefreshToken, RefreshToken);
  assertMatch(fault(await getTokens(sandbox, RefreshToken)), /^400 RefreshTokenReuseException/);
  assertEquals((await getTokens(sandbox, result.RefreshToken)).status, 200);
  assertEquals(sandbox.requests.at(-1)?.operation, "GetTokensFromRefreshToken");
});
