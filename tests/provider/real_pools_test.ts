/** Responses of real user pools that the API document does not describe. */
import { assertEquals, assertMatch, assertNotMatch, assertRejects } from "@std/assert";
import { AuthError, createSession } from "../../mod.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../support/answers.ts";
import { cannedSession, SETTINGS } from "../support/canned_session.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { linesOf, signedIn } from "../support/portless.ts";

async function errorOf(call: Promise<unknown>): Promise<AuthError> {
  return await assertRejects(() => call, AuthError);
}

Deno.test("a session ends at the next refresh after its device is removed, and login() starts a new one", async () => {
  for (const rotateRefreshTokens of [false, "get-tokens"] as const) {
    await using world = await signedIn({
      file: true,
      sandbox: { trackDevices: true, rotateRefreshTokens },
    });
    world.sandbox.removeDevices();
    const error = await errorOf(world.session.refresh());
    assertEquals(error.code, "REFRESH_REJECTED");
    assertEquals(error.fix, "run login({ force: true })");
    const { canRefresh } = world.another().status();
    assertEquals(canRefresh, false, "the store keeps neither refresh token nor device");
    assertNotMatch(linesOf(world.envFile).AUTH_SESSION ?? "", /device/);
    await world.session.login({ force: true });
    assertEquals((await world.another().refresh()).warnings, []);
  }
});

const ROTATION_IS_ON = errorAnswer(
  "InvalidParameterException",
  "REFRESH_TOKEN_AUTH flow not enabled for this client",
);

/** The outcome of a refresh, and the operations that were sent for it. */
async function refreshed(first: Response, second: Response): Promise<[string, ...string[]]> {
  await using world = await signedIn({
    provider: ({ flow }) =>
      flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer()
        : flow === "REFRESH_TOKEN_AUTH"
        ? first.clone()
        : second.clone(),
  });
  const outcome = await world.session.refresh().then(({ source }) => source, (e) => e.code);
  return [outcome, ...world.sent.slice(1).map(({ flow }) => flow)];
}

Deno.test("refresh() uses GetTokensFromRefreshToken only if the pool does not allow the usual flow", async () => {
  const expected = ["REFRESH_TOKEN_AUTH", "GetTokensFromRefreshToken"];
  const outcomes: [code: string, second: Response][] = [
    ["refresh", tokenAnswer()],
    // If the pool does not know the operation, the first refusal helps the user more.
    ["FLOW_DISABLED", errorAnswer("UnknownOperationException", "no")],
    ["FLOW_DISABLED", errorAnswer("", "")],
    ["REFRESH_REJECTED", errorAnswer("NotAuthorizedException", "Refresh Token has expired")],
    [
      "SECRET_HASH_REJECTED",
      errorAnswer("NotAuthorizedException", "Unable to verify secret for client x"),
    ],
  ];
  for (const [code, second] of outcomes) {
    assertEquals(await refreshed(ROTATION_IS_ON, second), [code, ...expected]);
  }
  const rejected = errorAnswer("NotAuthorizedException", "Invalid Refresh Token");
  const outcome = await refreshed(rejected, tokenAnswer());
  assertEquals(outcome, ["REFRESH_REJECTED", "REFRESH_TOKEN_AUTH"]);
});

/** The message of a refusal that repeats a code, which the provider should not do. */
async function shownOf(code: string): Promise<string> {
  const step = { ChallengeName: "CUSTOM_CHALLENGE", ChallengeParameters: {} };
  const refusal = errorAnswer("OddException", `no "${code}", ${code}`);
  const { session } = cannedSession({}, jsonAnswer(step), refusal);
  return (await errorOf(session.login({ onChallenge: () => ({ ANSWER: code }) }))).message;
}

Deno.test("an error hides a code of four or more characters that the provider repeats", async () => {
  assertMatch(await shownOf("q7x"), /OddException: no "q7x", q7x/);
  assertMatch(await shownOf("q7xz."), /OddException: no "\[secret\]", \[secret\]/);
});

Deno.test("a further step fails with UNEXPECTED_RESPONSE if its response has neither token, step nor error", async () => {
  for (const odd of [{}, { Status: "PENDING" }, { SecretCode: "no key!" }]) {
    const step = { ChallengeName: "SMS_MFA", Session: "session-of-twenty-letters" };
    const { session } = cannedSession({}, jsonAnswer(step), jsonAnswer(odd));
    const error = await errorOf(session.login({ onChallenge: () => ({ SMS_MFA_CODE: "123456" }) }));
    assertEquals(error.code, "UNEXPECTED_RESPONSE", JSON.stringify(odd));
  }
  // The first request of a login contains no code, so these responses cannot reject one.
  for (const odd of [{ Status: "ERROR" }, { Status: "SUCCESS" }, { SecretCode: "ABCDEFGH" }]) {
    const { session } = cannedSession({}, jsonAnswer(odd));
    assertEquals((await errorOf(session.login())).code, "UNEXPECTED_RESPONSE");
  }
});

Deno.test("requests to a host that ends in .amazonaws.com use the protocol names of AWS", async () => {
  const target = "AWSCognitoIdentityProviderService.InitiateAuth";
  const cases = [
    ["https://cognito-idp.eu-west-1.amazonaws.com", target],
    ["https://cognito-idp.cn-north-1.amazonaws.com.cn", target],
    ["https://notamazonaws.com", null],
  ] as const;
  for (const [authUrl, expected] of cases) {
    const { asked, fetch } = cannedFetch(tokenAnswer());
    await createSession({ envFile: false, ...SETTINGS, authUrl, fetch }).login();
    assertEquals(asked[0]?.headers.get("x-amz-target"), expected);
  }
});
