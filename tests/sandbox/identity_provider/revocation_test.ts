import { assertEquals } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import {
  type Body,
  callApi,
  logIn,
  operate,
  outcome,
  portalCookie,
  refreshBody,
  sandboxTest,
  send,
} from "../requests.ts";

async function tryRefresh(sandbox: Sandbox, token: unknown): Promise<string> {
  return outcome(await send(sandbox, refreshBody(sandbox, token)));
}

sandboxTest(
  "RevokeToken refuses an access token or a wrong client, but accepts an unknown token",
  {},
  async ({ sandbox }) => {
    const { RefreshToken, AccessToken } = await logIn(sandbox);
    const cases: [Body, expected: string][] = [
      [{ Token: AccessToken }, "400 UnsupportedTokenTypeException: Unsupported token type"],
      [{ ClientSecret: "x" }, "400 UnauthorizedException: Unable to verify secret for client"],
      [{ Token: "x".repeat(256) }, "200"],
    ];
    const { clientSecret: ClientSecret } = sandbox.settings;
    for (const [fields, expected] of cases) {
      const body = { Token: RefreshToken, ClientSecret, ...fields };
      const answer = outcome(await operate(sandbox, "RevokeToken", body));
      assertEquals(answer.slice(0, expected.length), expected);
    }
    assertEquals(await tryRefresh(sandbox, RefreshToken), "200");
  },
);

sandboxTest("signOutEverywhere() ends all existing sessions, but no later ones", {
  rotateRefreshTokens: true,
}, async ({ sandbox }) => {
  const open = async () => {
    const { AccessToken, RefreshToken } = await logIn(sandbox);
    return { AccessToken, RefreshToken, cookie: await portalCookie(sandbox) };
  };
  const endings = async (
    { AccessToken, RefreshToken, cookie }: Awaited<ReturnType<typeof open>>,
  ) => {
    const portal = new Request(sandbox.portalUrl, { headers: { cookie } });
    return [
      (await callApi(sandbox, "/v1/whoami", AccessToken)).status,
      (await sandbox.handle(portal)).status,
      await tryRefresh(sandbox, RefreshToken),
    ];
  };
  const before = await open();
  sandbox.signOutEverywhere();
  const revoked = "400 NotAuthorizedException: Refresh Token has been revoked";
  assertEquals(await endings(before), [401, 303, revoked]);
  assertEquals(await endings(await open()), [200, 200, "200"]);
});
