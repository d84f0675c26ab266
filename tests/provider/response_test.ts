/** The requests to an identity provider, and the outcome of each of its responses. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ChallengeError, ProviderError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { jsonAnswer, refusedConnection, tokenAnswer, TOKENS } from "../support/answers.ts";
import { cannedSession } from "../support/canned_session.ts";

function sessionWith(...answers: [Canned, ...Canned[]]) {
  return cannedSession({}, ...answers);
}

const text = (body: string, status = 200, headers: Record<string, string> = {}): Canned => () =>
  new Response(body, { status, headers });

const lifetimes: [string, unknown, number | undefined][] = [
  ["digits", "600", 600],
  ["the longest lifetime", 1e9, 1e9],
  ["a longer lifetime", 1e9 + 1, undefined],
  ["zero", 0, undefined],
  ["a negative number", -5, undefined],
  ["a word", "soon", undefined],
  ["true", true, undefined],
];
for (const [what, ExpiresIn, seconds] of lifetimes) {
  Deno.test(`ExpiresIn may be ${what}`, async () => {
    const { session, time } = sessionWith(tokenAnswer({ ...TOKENS, ExpiresIn }));
    const { state, accessTokenExpiresAt } = await session.login();
    const end = accessTokenExpiresAt?.getTime();
    assertEquals(end, seconds === undefined ? undefined : time.now() + seconds * 1_000);
    assertEquals(state, seconds === undefined ? "unknown" : "valid");
  });
}

const token = { AccessToken: "opaque-access-token" };
const lenient: [string, unknown, boolean][] = [
  ["only an access token", { AuthenticationResult: token }, false],
  ["no TokenType and no ChallengeParameters", {
    AuthenticationResult: { ...token, ExpiresIn: 60, RefreshToken: "r" },
  }, true],
  ["null members", {
    AuthenticationResult: {
      ...token,
      ExpiresIn: null,
      IdToken: null,
      RefreshToken: null,
      TokenType: null,
    },
    ChallengeName: null,
    ChallengeParameters: null,
    Session: null,
  }, false],
  ["members that nobody knows", {
    AuthenticationResult: { ...token, RefreshToken: "r", NewDeviceMetadata: { a: [1] }, X: 7 },
    ChallengeParameters: {},
    ResultMetadata: {},
  }, true],
  ["members of other types that are not needed", {
    AuthenticationResult: { ...token, IdToken: 7, TokenType: ["Bearer"], RefreshToken: "r" },
    ChallengeParameters: "none",
  }, true],
];
for (const [what, body, canRefresh] of lenient) {
  Deno.test(`login() accepts a response with ${what}`, async () => {
    const { session } = sessionWith(jsonAnswer(body));
    assertEquals((await session.login()).canRefresh, canRefresh);
    assertEquals(await session.accessToken(), "opaque-access-token");
  });
}

Deno.test("login() takes tokens of any status that says success, and any content type", async () => {
  const body = JSON.stringify({ AuthenticationResult: token });
  for (const answer of [text(body, 201), text(body, 200, { "content-type": "text/html" })]) {
    assertEquals((await sessionWith(answer).session.login()).source, "password");
  }
});

Deno.test("a challenge is CHALLENGE_REQUIRED with its name and parameters, and no tokens are kept", async () => {
  const { session } = sessionWith(jsonAnswer({
    ChallengeName: "NEW_PASSWORD_REQUIRED",
    Session: "a-session-string-of-the-provider",
    ChallengeParameters: { USER_ID_FOR_SRP: "ada", requiredAttributes: ["email"], n: 7 },
  }));
  const error = await assertRejects(() => session.login(), ChallengeError);
  assertEquals(error.code, "CHALLENGE_REQUIRED");
  assertEquals(error.challenge.name, "NEW_PASSWORD_REQUIRED");
  const { USER_ID_FOR_SRP, requiredAttributes, n } = error.challenge.parameters;
  assertEquals([USER_ID_FOR_SRP, requiredAttributes, n], ["ada", '["email"]', "7"]);
  assertMatch(
    error.message,
    /NEW_PASSWORD_REQUIRED: New password of ada.*; run login\(\) where it can prompt/,
  );
  assertEquals(session.status().state, "none");
});

Deno.test("a challenge with odd or no parameters is still a challenge", async () => {
  for (const ChallengeParameters of [undefined, null, 7, "text", []]) {
    const { session } = sessionWith(jsonAnswer({ ChallengeName: "SMS_MFA", ChallengeParameters }));
    const error = await assertRejects(() => session.login(), ChallengeError);
    assertMatch(error.message, /SMS_MFA: Code that was sent by SMS\); .*respond\(\{ SMS_MFA_CODE/);
  }
});

Deno.test("a provider that cannot be reached is UNREACHABLE, and the error shows only its host", async () => {
  const { session } = sessionWith(refusedConnection);
  const error = await assertRejects(() => session.login(), ProviderError);
  assertEquals([error.code, error.status], ["UNREACHABLE", undefined]);
  assertMatch(error.message, /provider\.example: the connection was refused/);
  assertEquals({ ...error.cause }, { name: "TypeError", code: "os error 111" });
});
