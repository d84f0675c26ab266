/** The further steps of a login at the sandbox's token endpoint. */
import { assertEquals, assertMatch } from "@std/assert";
import { type Body, fault, sandboxTest } from "../requests.ts";
import { enter, newestCode, operate, respond, responseTo } from "./steps.ts";

const EXPIRED = "400 NotAuthorizedException: Invalid session for the user, session is expired.";

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

sandboxTest("an unfinished login accepts one answer, within three minutes", {
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

const FAULTS: [string, Body, Body, RegExp][] = [
  ["the id of another client", { ClientId: "other" }, {}, /ResourceNotFoundException/],
  ["a session that is too short", { Session: "x" }, {}, /InvalidParameterException: .*'session'/],
  [
    "the name of another challenge",
    { ChallengeName: "SMS_MFA" },
    {},
    /Invalid session for the user\./,
  ],
  ["a wrong SECRET_HASH", {}, { SECRET_HASH: "AAAA" }, /Unable to verify secret hash/],
  ["no code", {}, { EMAIL_OTP_CODE: undefined }, /Missing required parameter EMAIL_OTP_CODE/],
];

for (const [what, fields, responses, expected] of FAULTS) {
  sandboxTest(`RespondToAuthChallenge refuses an answer with ${what}`, {
    challenge: "EMAIL_OTP",
  }, async ({ sandbox }) => {
    const asked = await enter(sandbox);
    const answers = { EMAIL_OTP_CODE: newestCode(sandbox), ...responses };
    const body = { ...responseTo(sandbox, asked, answers), ...fields };
    assertMatch(fault(await operate(sandbox, "RespondToAuthChallenge", body)), expected);
  });
}
