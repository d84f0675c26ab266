import { assertEquals } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { SETTINGS } from "../../support/canaries.ts";
import { cannedFetch, cannedSession } from "../../support/canned_fetch.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../../support/answers.ts";

// Claims of docs/security.md that no other test proves.

Deno.test("only two operations send the client secret itself", async () => {
  const disabled = errorAnswer(
    "InvalidParameterException",
    "Auth flow not enabled for this client",
  );
  const { session, asked } = cannedSession({}, tokenAnswer(), disabled, tokenAnswer());
  await session.login();
  await session.refresh();
  await session.refresh();
  await session.logout();
  const sent = asked.map(({ headers, body }) => [
    headers.get("x-vendor-target")?.split(".")[1],
    body.includes(SETTINGS.clientSecret),
  ]);
  assertEquals(sent, [
    ["InitiateAuth", false],
    ["InitiateAuth", false],
    ["GetTokensFromRefreshToken", true],
    ["GetTokensFromRefreshToken", true],
    ["RevokeToken", true],
  ]);
  assertEquals(Object.keys(JSON.parse(asked[2]?.body ?? "")).sort(), [
    "ClientId",
    "ClientSecret",
    "RefreshToken",
  ]);
});

Deno.test("only the provider and the API receive requests, and only the API receives the token", async () => {
  const provider = "https://provider.example";
  const api = "https://api.example";
  const { fetch, asked } = cannedFetch((each) =>
    each.url.startsWith(provider) && each.body !== "" ? tokenAnswer() : jsonAnswer({})
  );
  const session = createSession({ ...SETTINGS, apiBaseUrl: api, fetch });
  await session.doctor();
  await session.login();
  await session.authFetch("/v1/stations");
  await session.refresh();
  await session.doctor({ login: true });
  await session.logout();
  const seen = asked.map(({ url, headers, body }) => {
    const { origin } = new URL(url);
    const { AuthFlow = "" } = body === "" ? {} : JSON.parse(body);
    const operation = AuthFlow || headers.get("x-vendor-target")?.split(".")[1] || "";
    return `${origin} ${operation}${headers.has("authorization") ? "token" : ""}`.trimEnd();
  });
  assertEquals(seen, [
    ...[provider, api],
    `${provider} USER_PASSWORD_AUTH`,
    `${api} token`,
    `${provider} REFRESH_TOKEN_AUTH`,
    ...[provider, api, `${api} token`],
    ...[`${provider} USER_PASSWORD_AUTH`, `${api} token`, `${provider} REFRESH_TOKEN_AUTH`],
    // The token of doctor's test login, then the token of the session.
    ...[`${provider} RevokeToken`, `${provider} RevokeToken`],
  ]);
});
