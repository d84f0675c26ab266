/** The access tokens of the sandbox, compared with the API document. */
import { assertEquals } from "@std/assert";
import { createLocalJWKSet, jwtVerify } from "npm:jose@6.2.17";
import { logIn, sandboxTest } from "./requests.ts";

sandboxTest("an access token is signed with the published key and has the documented claims", {
  accessTokenSeconds: 300,
}, async ({ sandbox, clock }) => {
  const { AccessToken } = await logIn(sandbox);
  const { clientId, userPoolId } = sandbox.settings;
  const issuer = `${sandbox.authUrl}/${userPoolId}`;
  const keys = await (await sandbox.handle(new Request(`${issuer}/.well-known/jwks.json`))).json();
  const { payload, protectedHeader } = await jwtVerify(
    String(AccessToken),
    createLocalJWKSet(keys),
    { issuer, currentDate: new Date(clock.now()) },
  );
  assertEquals(protectedHeader.alg, "RS256");
  assertEquals(
    Object.keys(payload).sort().join(" "),
    "auth_time client_id exp iat iss jti origin_jti scope sub token_use username",
  );
  assertEquals(
    [payload.token_use, payload.client_id, payload.username, payload.iat, payload.exp],
    ["access", clientId, "student", clock.now() / 1000, clock.now() / 1000 + 300],
  );
});
