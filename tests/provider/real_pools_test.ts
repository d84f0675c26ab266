/** Responses of real user pools that the API document does not describe. */
import { assertEquals, assertNotMatch, assertRejects } from "@std/assert";
import { AuthError, createSession } from "../../mod.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../support/answers.ts";
import { SETTINGS } from "../support/canaries.ts";
import { cannedFetch, cannedSession } from "../support/canned_fetch.ts";
import { linesOf, rejection, signedIn } from "../support/portless.ts";

Deno.test("a session ends at the next refresh after its device is removed, and login() starts a new one", async () => {
  for (const rotateRefreshTokens of [false, "get-tokens"] as const) {
    await using world = await signedIn({
      file: true,
      sandbox: { trackDevices: true, rotateRefreshTokens },
    });
    world.sandbox.removeDevices();
    const error = await assertRejects(() => world.session.refresh(), AuthError);
    assertEquals([error.code, error.fix], ["REFRESH_REJECTED", "run login({ force: true })"]);
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
    provider: (_, count) => [tokenAnswer(), first, second][count - 1]?.clone() ?? Response.error(),
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
    ["REFRESH_REJECTED", errorAnswer("NotAuthorizedException", "Refresh Token has expired")],
  ];
  for (const [code, second] of outcomes) {
    assertEquals(await refreshed(ROTATION_IS_ON, second), [code, ...expected]);
  }
  const rejected = errorAnswer("NotAuthorizedException", "Invalid Refresh Token");
  const outcome = await refreshed(rejected, tokenAnswer());
  assertEquals(outcome, ["REFRESH_REJECTED", "REFRESH_TOKEN_AUTH"]);
});

Deno.test("a further step fails with UNEXPECTED_RESPONSE if its response has neither token, step nor error", async () => {
  const step = { ChallengeName: "SMS_MFA", Session: "session-of-twenty-letters" };
  const { session } = cannedSession({}, jsonAnswer(step), jsonAnswer({ Status: "PENDING" }));
  const login = session.login({ onChallenge: () => ({ SMS_MFA_CODE: "123456" }) });
  assertEquals((await rejection(login)).code, "UNEXPECTED_RESPONSE");
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
