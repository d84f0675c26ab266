/** Responses of real pools that the API document does not describe, from the call to its error. */
import { assertEquals, assertMatch, assertNotMatch, assertRejects } from "@std/assert";
import { AuthError, createSession, type SessionOptions } from "../../mod.ts";
import { errorAnswer, jsonAnswer, tokenAnswer, TOKENS } from "../support/answers.ts";
import { cannedSession, SETTINGS } from "../support/canned_session.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { linesOf, portless, signedIn } from "../support/portless.ts";

/** The error of a call, with what the tests look at. */
async function errorOf(call: Promise<unknown>): Promise<AuthError> {
  return await assertRejects(() => call, AuthError);
}

Deno.test("a device that was removed ends the session, and the next login works", async () => {
  for (const rotateRefreshTokens of [false, "get-tokens"] as const) {
    await using world = await signedIn({
      file: true,
      sandbox: { trackDevices: true, rotateRefreshTokens },
    });
    world.sandbox.removeDevices();
    const error = await errorOf(world.session.refresh());
    assertEquals(error.code, "REFRESH_REJECTED");
    assertMatch(
      error.problem,
      /the device registered at this login was removed at the provider \(status 400/,
    );
    assertEquals(error.fix, "run login({ force: true })");
    const { canRefresh } = world.another().status();
    assertEquals(canRefresh, false, "the store keeps neither refresh token nor device");
    assertNotMatch(linesOf(world.envFile).AUTH_SESSION ?? "", /device/);
    await world.session.login({ force: true });
    assertEquals((await world.another().refresh()).warnings, []);
  }
});

Deno.test("a pool that tracks devices and creates none refuses each refresh, and the login is kept", async () => {
  await using world = portless({ sandbox: { trackDevices: "withheld" } });
  assertEquals((await world.session.login()).warnings, []);
  assertEquals((await errorOf(world.session.refresh())).code, "REFRESH_REJECTED");
  assertEquals(world.session.status().state, "valid");
});

/** How a pool refuses the flow of the document because its refresh tokens rotate. */
const ROTATION_IS_ON = [
  ["InvalidParameterException", "REFRESH_TOKEN_AUTH flow not enabled for this client"],
  ["NotAuthorizedException", "REFRESH_TOKEN_AUTH is not enabled for the client."],
  ["UnsupportedOperationException", "Refresh token rotation is enabled for this client."],
  ["InvalidParameterException", "Auth flow not enabled for this client"],
] as const;

/** A refresh in a world whose provider refuses the flow, with what was sent for it. */
async function refreshed([name, message]: readonly [string, string], next: () => Response) {
  await using world = await signedIn({
    provider: ({ flow }) =>
      flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer()
        : flow === "REFRESH_TOKEN_AUTH"
        ? errorAnswer(name, message)
        : next(),
  });
  const outcome = await world.session.refresh().then(({ source }) => source, (e) => e.code);
  return { outcome, flows: world.sent.slice(1).map(({ flow }) => flow) };
}

for (const refusal of ROTATION_IS_ON) {
  Deno.test(`"${refusal[1]}" is followed by GetTokensFromRefreshToken and nothing else`, async () => {
    const { outcome, flows } = await refreshed(refusal, () => tokenAnswer());
    assertEquals(outcome, "refresh");
    assertEquals(flows, ["REFRESH_TOKEN_AUTH", "GetTokensFromRefreshToken"]);
  });
}

for (
  const [name, message, code] of [
    ["UnknownOperationException", "no", "FLOW_DISABLED"],
    ["", "", "FLOW_DISABLED"],
    ["NotAuthorizedException", "Refresh Token has expired", "REFRESH_REJECTED"],
    ["NotAuthorizedException", "Unable to verify secret for client x", "SECRET_HASH_REJECTED"],
  ] as const
) {
  Deno.test(`a refresh by rotation that is refused with ${name} "${message}" is ${code}`, async () => {
    const refusal = () => errorAnswer(name, message);
    const { outcome, flows } = await refreshed(ROTATION_IS_ON[1], refusal);
    assertEquals(outcome, code);
    assertEquals(flows, ["REFRESH_TOKEN_AUTH", "GetTokensFromRefreshToken"]);
  });
}

Deno.test("no other refusal of a refresh is followed by GetTokensFromRefreshToken", async () => {
  for (
    const refusal of [
      ["NotAuthorizedException", "Invalid Refresh Token"],
      ["InvalidParameterException", "Missing required parameter REFRESH_TOKEN"],
      ["ResourceNotFoundException", "User pool client abc does not exist."],
      ["RefreshTokenReuseException", "Refresh Token has been invalidated by rotation"],
    ] as const
  ) {
    const { flows } = await refreshed(refusal, () => tokenAnswer());
    assertEquals([...new Set(flows)], ["REFRESH_TOKEN_AUTH"], refusal[1]);
  }
});

Deno.test("a platform's rule that failed once does not end a login or a refresh", async () => {
  const failed = errorAnswer("UnexpectedLambdaException", "PreTokenGeneration failed");
  const { session } = cannedSession({}, failed, tokenAnswer(), failed, tokenAnswer());
  assertEquals((await session.login()).state, "valid");
  assertEquals((await session.refresh()).source, "refresh");
});

/** The message of a refusal that repeats a code, which the provider should not do. */
async function shownOf(code: string): Promise<string> {
  const step = { ChallengeName: "CUSTOM_CHALLENGE", ChallengeParameters: {} };
  const refusal = errorAnswer("OddException", `no "${code}" here`);
  const { session } = cannedSession({}, jsonAnswer(step), refusal);
  return (await errorOf(session.login({ onChallenge: () => ({ ANSWER: code }) }))).message;
}

Deno.test("a code that a refusal repeats is withheld", async () => {
  assertMatch(await shownOf("q7x"), /OddException: no "q7x" here/);
  assertMatch(await shownOf("q7xz"), /OddException: \[withheld: it repeats a secret\]/);
});

Deno.test("a response without token, step or error ends a further step as UNEXPECTED_RESPONSE", async () => {
  for (const odd of [{}, { Status: "PENDING" }, { SecretCode: "no key!" }]) {
    const step = { ChallengeName: "SMS_MFA", Session: "session-of-twenty-letters" };
    const { session } = cannedSession({}, jsonAnswer(step), jsonAnswer(odd));
    const error = await errorOf(session.login({ onChallenge: () => ({ SMS_MFA_CODE: "123456" }) }));
    assertEquals(error.code, "UNEXPECTED_RESPONSE", JSON.stringify(odd));
  }
  // At a login nobody is asked for a code, so none is rejected.
  for (const odd of [{ Status: "ERROR" }, { Status: "SUCCESS" }, { SecretCode: "ABCDEFGH" }]) {
    const { session } = cannedSession({}, jsonAnswer(odd));
    assertEquals((await errorOf(session.login())).code, "UNEXPECTED_RESPONSE");
  }
});

/** The host that is asked, and the header names that it is asked with. */
async function askedWith(options: SessionOptions) {
  const { authUrl: _, ...others } = SETTINGS;
  const { asked, fetch } = cannedFetch(tokenAnswer(TOKENS));
  const session = createSession({ envFile: false, ...others, ...options, fetch });
  await session.login();
  const [{ url = "", headers } = {}] = asked;
  return [new URL(url).host, headers?.get("x-amz-target") ?? "none"];
}

Deno.test("regions of China have a separate domain, and the same protocol names", async () => {
  const target = "AWSCognitoIdentityProviderService.InitiateAuth";
  const host = "cognito-idp.cn-north-1.amazonaws.com.cn";
  const region = "cn-north-1";

  for (const options of [{ authUrl: `https://${host}` }, { provider: "aws", region }] as const) {
    assertEquals(await askedWith(options), [host, target]);
  }
  const other = "notamazonaws.com.cn";
  assertEquals(await askedWith({ authUrl: `https://${other}` }), [other, "none"]);
});
