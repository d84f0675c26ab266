/** Operations of the sandbox's token endpoint beside login and refresh. */
import { assertEquals, assertMatch } from "@std/assert";
import { type Answer, type Body, fault, sandboxTest } from "../requests.ts";
import {
  enter,
  newestCode,
  operate,
  respond,
  responseTo,
  setUpAuthenticator,
  told,
} from "./steps.ts";

const EXPIRED = "400 NotAuthorizedException: Invalid session for the user, session is expired.";
const NEW_PASSWORD = "Chosen-Entry-2";

function assertSignedIn(answer: Answer): void {
  assertEquals(answer.status, 200, fault(answer));
  assertEquals(Object.keys(answer.body).sort(), ["AuthenticationResult", "ChallengeParameters"]);
  assertMatch(String(answer.result.RefreshToken), /^[\w-]{200,}$/);
}

sandboxTest(
  "a user whom an administrator made sets password and authenticator once",
  {},
  async ({ sandbox, clock }) => {
    const ada = { username: "ada", password: "temporary", email: "ada@sandbox.example" };
    sandbox.addUser({ ...ada, status: "new-password-required", challenge: "MFA_SETUP" });
    const first = await enter(sandbox, ada);
    assertEquals(first.body.ChallengeName, "NEW_PASSWORD_REQUIRED");
    assertEquals(told(first), {
      USER_ID_FOR_SRP: "ada",
      requiredAttributes: "[]",
      userAttributes: JSON.stringify({ email: ada.email, email_verified: "true" }),
    });
    const setup = await respond(sandbox, first, { NEW_PASSWORD });
    assertEquals(told(setup).MFAS_CAN_SETUP, '["SOFTWARE_TOKEN_MFA"]');
    assertSignedIn(await setUpAuthenticator(sandbox, setup, "ada"));

    assertMatch(fault(await enter(sandbox, ada)), /Incorrect username or password/);
    clock.advance(30);
    const later = await enter(sandbox, { ...ada, password: NEW_PASSWORD });
    assertEquals(later.body.ChallengeName, "SOFTWARE_TOKEN_MFA");
    const code = await sandbox.totp("ada");
    assertSignedIn(await respond(sandbox, later, { SOFTWARE_TOKEN_MFA_CODE: code }));
    assertEquals(sandbox.requests.map(({ operation }) => operation).slice(0, 5), [
      "InitiateAuth",
      "RespondToAuthChallenge",
      "AssociateSoftwareToken",
      "VerifySoftwareToken",
      "RespondToAuthChallenge",
    ]);
    const records = JSON.stringify(sandbox.requests);
    for (const secret of [NEW_PASSWORD, code, setup.body.Session]) {
      assertEquals(records.includes(String(secret)), false);
    }
  },
);

sandboxTest(
  "three wrong codes end the session, two do not",
  { challenge: "SOFTWARE_TOKEN_MFA" },
  async ({ sandbox }) => {
    const tries = async (wrong: number): Promise<string> => {
      const asked = await enter(sandbox);
      for (let count = 0; count < wrong; count++) {
        const answer = await respond(sandbox, asked, { SOFTWARE_TOKEN_MFA_CODE: "x" });
        assertMatch(fault(answer), /^400 CodeMismatchException: Invalid code/);
      }
      const code = await sandbox.totp();
      const answer = await respond(sandbox, asked, { SOFTWARE_TOKEN_MFA_CODE: code });
      return answer.status === 200 ? "200" : fault(answer);
    };
    assertEquals(await tries(3), EXPIRED);
    assertEquals(await tries(2), "200");
  },
);

sandboxTest("a session is valid for three minutes, and for one of two simultaneous answers", {
  challenge: "EMAIL_OTP",
}, async ({ sandbox, clock }) => {
  const code = () => ({ EMAIL_OTP_CODE: newestCode(sandbox) });
  const late = await enter(sandbox);
  clock.advance(180);
  assertEquals(fault(await respond(sandbox, late, code())), EXPIRED);
  const asked = await enter(sandbox);
  clock.advance(179);
  const both = await Promise.all([1, 2].map(() => respond(sandbox, asked, code())));
  assertEquals(both.map(({ status }) => status).sort(), [200, 400]);
});

sandboxTest("the refusal of a new password states the rule, and another one may be tried", {
  challenge: "NEW_PASSWORD_REQUIRED",
}, async ({ sandbox }) => {
  const asked = await enter(sandbox);
  const answer = async (password: string) =>
    fault(await respond(sandbox, asked, { NEW_PASSWORD: password }));
  const policy = "400 InvalidPasswordException: Password did not conform with policy: ";
  assertEquals(await answer("Short-1"), `${policy}Password not long enough`);
  assertEquals(await answer("chosen-entry-2"), `${policy}Password must have uppercase characters`);
  assertMatch(
    await answer(sandbox.settings.password),
    /^400 PasswordHistoryPolicyViolationException/,
  );
  assertSignedIn(await respond(sandbox, asked, { NEW_PASSWORD }));
  assertSignedIn(await enter(sandbox, { ...sandbox.settings, password: NEW_PASSWORD }));
});

const FAULTS: [string, Body, Body, RegExp][] = [
  ["another client", { ClientId: "other" }, {}, /ResourceNotFoundException/],
  ["a short session", { Session: "x" }, {}, /InvalidParameterException: .*'session'/],
  ["another challenge", { ChallengeName: "SMS_MFA" }, {}, /Invalid session for the user\./],
  ["a wrong hash", {}, { SECRET_HASH: "AAAA" }, /Unable to verify secret hash/],
  ["no code", {}, { EMAIL_OTP_CODE: undefined }, /Missing required parameter EMAIL_OTP_CODE/],
];

for (const [what, fields, responses, expected] of FAULTS) {
  sandboxTest(
    `RespondToAuthChallenge refuses ${what}`,
    { challenge: "EMAIL_OTP" },
    async ({ sandbox }) => {
      const asked = await enter(sandbox);
      const body = responseTo(sandbox, asked, {
        EMAIL_OTP_CODE: newestCode(sandbox),
        ...responses,
      });
      assertMatch(
        fault(await operate(sandbox, "RespondToAuthChallenge", { ...body, ...fields })),
        expected,
      );
    },
  );
}
