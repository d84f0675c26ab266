/** The requests to an identity provider, and the outcome of each of its responses. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ChallengeError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { jsonAnswer, tokenAnswer, TOKENS } from "../support/answers.ts";
import { cannedSession } from "../support/canned_session.ts";

function sessionWith(...answers: [Canned, ...Canned[]]) {
  return cannedSession({}, ...answers);
}

const lifetimes: [string, unknown, number | undefined][] = [
  ["digits", "600", 600],
  ["the longest lifetime", 1e9, 1e9],
  ["a longer lifetime", 1e9 + 1, undefined],
  ["zero", 0, undefined],
  ["a word", "soon", undefined],
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
