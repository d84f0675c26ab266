import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  fault,
  hash,
  logIn,
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
  "the sandbox refuses a refresh with an unknown, missing or revoked token and says why",
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

/** What a refresh may contain: no hash, the correct one, a wrong one. */
const HASH_RULES: ["optional" | "required" | "forbidden", accepted: boolean[]][] = [
  ["optional", [true, true, false]],
  ["required", [false, true, false]],
  ["forbidden", [true, false, false]],
];

for (const [refreshSecretHash, accepted] of HASH_RULES) {
  sandboxTest(`a refresh with a SECRET_HASH or without is checked if it is ${refreshSecretHash}`, {
    refreshSecretHash,
  }, async ({ sandbox }) => {
    const { RefreshToken } = await logIn(sandbox);
    const hashes = [undefined, hash(sandbox, sandbox.settings.username), hash(sandbox, "someone")];
    for (const [index, SECRET_HASH] of hashes.entries()) {
      const answer = await refresh(sandbox, RefreshToken, { SECRET_HASH });
      if (accepted[index]) assertEquals(answer.status, 200);
      else assertMatch(fault(answer), /^400 NotAuthorizedException: .*(SecretHash|SECRET_HASH)/);
    }
  });
}

sandboxTest(
  "with rotation, a refresh replaces the refresh token but does not extend its lifetime",
  {
    rotateRefreshTokens: true,
    refreshDays: 1,
  },
  async ({ sandbox, clock }) => {
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
  },
);

const ROTATIONS = [
  ["initiate-auth", refresh, /has been revoked/],
  ["get-tokens", getTokens, /RefreshTokenReuseException/],
] as const;

for (const [rotateRefreshTokens, use, refused] of ROTATIONS) {
  const rotation = `rotation "${rotateRefreshTokens}"`;
  sandboxTest(`with ${rotation}, reusing a refresh token revokes the tokens of its first use`, {
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

sandboxTest('rotateRefreshTokens "get-tokens" allows only GetTokensFromRefreshToken', {
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
