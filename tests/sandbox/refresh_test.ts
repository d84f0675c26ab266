import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import {
  type Answer,
  type Body,
  hash,
  logIn,
  outcome,
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

/** What a refresh may contain: no hash, the correct one, a wrong one. */
const HASH_RULES: ["optional" | "required" | "forbidden", accepted: boolean[]][] = [
  ["optional", [true, true, false]],
  ["required", [false, true, false]],
  ["forbidden", [true, false, false]],
];

for (const [refreshSecretHash, accepted] of HASH_RULES) {
  sandboxTest(
    `with refreshSecretHash "${refreshSecretHash}", a refresh is accepted only with such a SECRET_HASH`,
    {
      refreshSecretHash,
    },
    async ({ sandbox }) => {
      const { RefreshToken } = await logIn(sandbox);
      const hashes = [
        undefined,
        hash(sandbox, sandbox.settings.username),
        hash(sandbox, "someone"),
      ];
      for (const [index, SECRET_HASH] of hashes.entries()) {
        const answer = outcome(await refresh(sandbox, RefreshToken, { SECRET_HASH }));
        const refused = /^400 NotAuthorizedException: .*(SecretHash|SECRET_HASH)/;
        assertMatch(answer, accepted[index] ? /^200$/ : refused);
      }
    },
  );
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
    const second = (await refresh(sandbox, first.RefreshToken)).result;
    assertEquals(outcome(await refresh(sandbox, first.RefreshToken)), REVOKED);
    const third = (await refresh(sandbox, second.RefreshToken)).result;
    clock.advance(DAY / 2);
    assertMatch(outcome(await refresh(sandbox, third.RefreshToken)), /has expired/);
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
    for (const old of [child, grandchild]) assertMatch(outcome(await use(sandbox, old)), refused);
    assertEquals((await use(sandbox, fork)).status, 200);
  });
}

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
