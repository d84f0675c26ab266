import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Authenticators } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import {
  authenticatorKey,
  totpCode,
  totpStep,
} from "../../../src/sandbox/identity_provider/challenges/totp.ts";
import { Clock } from "../../support/clock.ts";
import { ACCOUNT, fault, sandboxTest } from "../requests.ts";
import { enter, operate, respond } from "./steps.ts";

// RFC 6238, appendix B, the column of SHA-1.
const VECTORS: [number, string][] = [
  [59, "94287082"],
  [20000000000, "65353130"],
];

Deno.test("totpCode() is as RFC 6238 prints it", () => {
  const key = new TextEncoder().encode("12345678901234567890");
  for (const [seconds, code] of VECTORS) {
    assertEquals(totpCode(key, totpStep(seconds * 1000), 8), code);
    assertEquals(totpCode(key, totpStep(seconds * 1000)), code.slice(2));
  }
});

Deno.test("a code is valid once, up to one step early or late", () => {
  const clock = new Clock();
  const account = { ...ACCOUNT, challenges: ["SOFTWARE_TOKEN_MFA"] };
  const authenticators = new Authenticators(clock.now);
  const outcomes = [-60, -30, 0, 30, 60].map((drift) => {
    const phone = authenticators.code(account) ?? "";
    clock.advance(drift);
    const outcome = authenticators.check(account, phone);
    // Far enough that no earlier code is in the way.
    clock.advance(600);
    return outcome;
  });
  assertEquals(outcomes, ["wrong", "ok", "ok", "ok", "wrong"]);
  const code = authenticators.code(account) ?? "";
  assertEquals([1, 2].map(() => authenticators.check(account, code)), ["ok", "used"]);
});

sandboxTest("MFA_SETUP provides a secret, and after a wrong first code another may be tried", {
  challenge: "MFA_SETUP",
}, async ({ sandbox, clock }) => {
  await assertRejects(() => sandbox.totp(), TypeError, "has no authenticator");
  const asked = await enter(sandbox);
  assertMatch(fault(await respond(sandbox, asked, {})), /^400 SoftwareTokenMFANotFoundException/);
  const { Session: used } = asked.body;
  const { body } = await operate(sandbox, "AssociateSoftwareToken", { Session: used });
  assertMatch(String(body.SecretCode), /^[A-Z2-7]{52}$/);
  assertMatch(
    fault(await operate(sandbox, "AssociateSoftwareToken", { Session: used })),
    /session can only be used once/,
  );
  const verify = (UserCode: string) =>
    operate(sandbox, "VerifySoftwareToken", { Session: body.Session, UserCode });
  assertMatch(fault(await verify("000")), /^400 EnableSoftwareTokenMFAException: Code mismatch/);
  // As a phone computes it from the secret.
  const key = authenticatorKey(String(body.SecretCode)) ?? new Uint8Array();
  const code = totpCode(key, totpStep(clock.now()));
  assertEquals(await sandbox.totp(), code);
  const verified = await verify(code);
  assertEquals(verified.body.Status, "SUCCESS");
  const Session = verified.body.Session;
  const answer = await respond(sandbox, { ...asked, body: { ...asked.body, Session } }, {});
  assertEquals(answer.status, 200);
  const later = await enter(sandbox);
  assertEquals(later.body.ChallengeName, "SOFTWARE_TOKEN_MFA");
  // The code of the setup is used.
  assertMatch(
    fault(await respond(sandbox, later, { SOFTWARE_TOKEN_MFA_CODE: code })),
    /^400 ExpiredCodeException/,
  );
});
