/** Operations of the sandbox's token endpoint other than login and refresh. */
import { assertEquals, assertMatch } from "@std/assert";
import { type Answer, type Body, fault, sandboxTest } from "../requests.ts";
import { enter, newestCode, operate, respond, responseTo } from "./steps.ts";

const EXPIRED = "400 NotAuthorizedException: Invalid session for the user, session is expired.";
const NEW_PASSWORD = "Chosen-Entry-2";

function assertSignedIn(answer: Answer): void {
  assertEquals(answer.status, 200, fault(answer));
  assertEquals(Object.keys(answer.body).sort(), ["AuthenticationResult", "ChallengeParameters"]);
  assertMatch(String(answer.result.RefreshToken), /^[\w-]{200,}$/);
}

sandboxTest(
  "the third wrong code ends an unfinished login",
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

sandboxTest("an unfinished login takes one answer, within three minutes", {
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

sandboxTest("a refused new password is answered with the rule, and another may be tried", {
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
  sandboxTest(`RespondToAuthChallenge refuses ${what}`, {
    challenge: "EMAIL_OTP",
  }, async ({ sandbox }) => {
    const asked = await enter(sandbox);
    const answers = { EMAIL_OTP_CODE: newestCode(sandbox), ...responses };
    const body = { ...responseTo(sandbox, asked, answers), ...fields };
    assertMatch(fault(await operate(sandbox, "RespondToAuthChallenge", body)), expected);
  });
}
