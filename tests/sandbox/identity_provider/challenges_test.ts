import { assertEquals, assertMatch } from "@std/assert";
import { Authenticators } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { Clock } from "../../support/clock.ts";
import { type Body, enter, outcome, respond, sandboxTest } from "../requests.ts";

sandboxTest("RespondToAuthChallenge refuses an answer that does not fit its challenge", {
  challenge: "EMAIL_OTP",
}, async ({ sandbox }) => {
  const faults: [fields: Body, responses: Body, expected: RegExp][] = [
    [{ Session: "x" }, {}, /InvalidParameterException: .*'session'/],
    [{}, { SECRET_HASH: "AAAA" }, /Unable to verify secret hash/],
    [{}, { EMAIL_OTP_CODE: undefined }, /Missing required parameter EMAIL_OTP_CODE/],
  ];
  for (const [fields, responses, expected] of faults) {
    const asked = await enter(sandbox);
    const answers = { EMAIL_OTP_CODE: sandbox.codes.at(-1)?.code, ...responses };
    assertMatch(outcome(await respond(sandbox, asked, answers, fields)), expected);
  }
});

Deno.test("a code from an authenticator app is valid once, up to 30 seconds early or late", () => {
  const clock = new Clock();
  const account = {
    username: "u",
    sub: "s",
    email: undefined,
    phone: undefined,
    status: "confirmed" as const,
    challenges: ["SOFTWARE_TOKEN_MFA"],
  };
  const authenticators = new Authenticators(clock.now);
  const outcomes = [-60, -30, 0, 30, 60].map((drift) => {
    const phone = authenticators.code(account) ?? "";
    clock.advance(drift);
    const outcome = authenticators.check(account, phone);
    // Moves far away from the codes that were already used.
    clock.advance(600);
    return outcome;
  });
  assertEquals(outcomes, ["wrong", "ok", "ok", "ok", "wrong"]);
  const code = authenticators.code(account) ?? "";
  assertEquals([1, 2].map(() => authenticators.check(account, code)), ["ok", "used"]);
});
