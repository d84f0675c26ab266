/**
 * The sandbox on its own, without the client: its identity provider, its data API and, in `portal/`,
 * its portal answer as the API document says.
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createLocalJWKSet, errors, jwtVerify } from "npm:jose@^6";
import { TokenIssuer, TokenRefused } from "../../src/sandbox/identity_provider/tokens.ts";
import { ACCOUNT, callApi, logIn, sandboxTest } from "./requests.ts";

sandboxTest("access token verifies against the served key set and carries the claims", {
  accessTokenSeconds: 300,
}, async ({ sandbox, clock }) => {
  const { AccessToken } = await logIn(sandbox);
  const { clientId, userPoolId } = sandbox.settings;
  const paths = ["/.well-known/jwks.json", `/${userPoolId}/.well-known/jwks.json`];
  for (const path of paths) {
    const keys = await (await sandbox.handle(new Request(sandbox.authUrl + path))).json();
    assertEquals(Object.keys(keys.keys[0]).sort(), ["alg", "e", "kid", "kty", "n", "use"]);
    const { payload, protectedHeader } = await jwtVerify(
      String(AccessToken),
      createLocalJWKSet(keys),
      { issuer: `${sandbox.authUrl}/${userPoolId}`, currentDate: new Date(clock.now()) },
    );
    assertEquals(protectedHeader.alg, "RS256");
    assertEquals(Object.keys(payload).sort(), [
      "auth_time",
      "client_id",
      "exp",
      "iat",
      "iss",
      "jti",
      "origin_jti",
      "scope",
      "sub",
      "token_use",
      "username",
    ]);
    assertEquals(
      [payload.token_use, payload.client_id, payload.username, payload.iat, payload.exp],
      ["access", clientId, "student", clock.now() / 1000, clock.now() / 1000 + 300],
    );
  }
  assertEquals(sandbox.requests.length, 1);
});

sandboxTest("key set does not verify a token that was changed", {}, async ({ sandbox, clock }) => {
  const { AccessToken } = await logIn(sandbox);
  const [header = "", body = "", signature = ""] = String(AccessToken).split(".");
  const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(body, {
    alphabet: "base64url",
  })));
  const longer = new TextEncoder().encode(JSON.stringify({ ...claims, exp: claims.exp + 1 }));
  const changed = [
    header,
    longer.toBase64({ alphabet: "base64url", omitPadding: true }),
    signature,
  ].join(".");
  const url = `${sandbox.authUrl}/.well-known/jwks.json`;
  const keys = createLocalJWKSet(await (await sandbox.handle(new Request(url))).json());
  await assertRejects(
    () => jwtVerify(changed, keys, { currentDate: new Date(clock.now()) }),
    errors.JWSSignatureVerificationFailed,
  );
  const refused = await callApi(sandbox, "/v1/whoami", changed);
  assertMatch((await refused.json()).message, /signature/);
});

sandboxTest(
  "portalToken() gives the word bearer and a good access token",
  {},
  async ({ sandbox }) => {
    const text = await sandbox.portalToken();
    assertMatch(text, /^bearer eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    const response = await callApi(sandbox, "/v1/whoami", text.slice("bearer ".length));
    assertEquals((await response.json()).username, "student");
    assertEquals(sandbox.requests.length, 0);
  },
);

Deno.test("TokenIssuer refuses tokens of another issuer or client, though the key is one", async () => {
  const now = (): number => Date.UTC(2025, 5, 1);
  const options = { issuer: "https://a", clientId: "one", accessTokenSeconds: 60, now };
  const { accessToken } = await new TokenIssuer(options).issue(ACCOUNT, now(), "origin");
  assertEquals((await new TokenIssuer(options).verify(accessToken)).username, "u");
  const otherIssuer = new TokenIssuer({ ...options, issuer: "https://b" });
  await assertRejects(() => otherIssuer.verify(accessToken), TokenRefused, "claim iss");
  const otherClient = new TokenIssuer({ ...options, clientId: "two" });
  await assertRejects(() => otherClient.verify(accessToken), TokenRefused, "another app client");
});
