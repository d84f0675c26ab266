import { assertEquals } from "@std/assert";
import { refusalError } from "../../src/provider/refusal_error.ts";
import type { SendResult } from "../../src/provider/send.ts";
import type { Outcome } from "../../src/provider/protocol.ts";

function resultOf(outcome: Outcome, sentAt = 0): SendResult {
  return { outcome, attempts: 1, sentAt, sentAtMonotonic: 0 };
}

const REJECTED = {
  kind: "refused",
  code: "REFRESH_REJECTED",
  seen: "status 400, NotAuthorizedException: Refresh Token has expired",
} as const;

Deno.test("a refused refresh reports the age of a login that is over 30 days old", () => {
  const month = 30 * 86_400_000;
  const cases = [
    [month, "REFRESH_REJECTED", `the provider rejected the refresh token (${REJECTED.seen})`],
    [
      month + 1,
      "REFRESH_WINDOW_OVER",
      "the login is 30 days old and the provider no longer accepts its refresh token",
    ],
  ] as const;
  for (const [age, code, problem] of cases) {
    const error = refusalError("refresh", resultOf(REJECTED, age), { authenticatedAt: 0 });
    assertEquals([error.code, error.problem, error.fix], [
      code,
      `Cannot refresh the session: ${problem}`,
      "run login({ force: true })",
    ]);
  }
  // Without the time of the login, and with specific advice, the age is not mentioned.
  const later = resultOf({ ...REJECTED, advice: { problem: "it was used before" } }, 2 * month);
  assertEquals(refusalError("refresh", later, { authenticatedAt: 0 }).code, "REFRESH_REJECTED");
  assertEquals(refusalError("refresh", resultOf(REJECTED, 2 * month)).code, "REFRESH_REJECTED");
});

Deno.test("a response of the wrong kind is UNEXPECTED_RESPONSE", () => {
  const step = {
    kind: "challenge",
    name: "SMS_MFA",
    parameters: {},
    attributes: [],
    username: undefined,
    session: undefined,
  } as const;
  const seen: [Outcome, string][] = [
    [step, "a further step, SMS_MFA, that does not fit this request"],
    [{ kind: "done", fields: {}, session: undefined }, "neither tokens nor a challenge"],
  ];
  for (const [outcome, text] of seen) {
    const { code, problem } = refusalError("refresh", resultOf(outcome));
    assertEquals([code, problem.endsWith(`(${text})`)], ["UNEXPECTED_RESPONSE", true]);
  }
});
