/** The access tokens of the sandbox, compared with the API document. */
import { assertEquals } from "@std/assert";
import { createLocalJWKSet, jwtVerify } from "npm:jose@6.2.17";
import { createSession } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/mod.ts";
import { Clock } from "../support/clock.ts";

// Without `requests.ts`, whose sandboxes do not sign with a real key.
Deno.test("an access token is signed with the published key and has the documented claims", async () => {
  const clock = new Clock();
  await using sandbox = createSandbox({ accessTokenSeconds: 300, now: clock.now });
  const { clientId, userPoolId } = sandbox.settings;
  const session = createSession({
    ...sandbox.settings,
    ...clock.options,
    envFile: false,
    fetch: (input, init) => sandbox.handle(new Request(input, init)),
  });
  await session.login();
  const issuer = `${sandbox.authUrl}/${userPoolId}`;
  const keys = await (await sandbox.handle(new Request(`${issuer}/.well-known/jwks.json`))).json();
  const { payload, protectedHeader } = await jwtVerify(
    await session.accessToken(),
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
