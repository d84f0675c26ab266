import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Authenticators } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import {
  authenticatorKey,
  toBase32,
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

Deno.test("base32 is encoded and decoded, also as people paste it", () => {
  // RFC 4648, section 10, without padding.
  assertEquals(toBase32(new TextEncoder().encode("foobar")), "MZXW6YTBOI");
  for (const length of [10, 11, 12, 13, 14, 32]) {
    const bytes = Uint8Array.from({ length }, (_, index) => index * 37);
    assertEquals(authenticatorKey(toBase32(bytes)), bytes);
  }
  const key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  assertEquals(authenticatorKey("gezd gnbv gy3t qojq gezd gnbv gy3t qojq"), authenticatorKey(key));
  assertEquals(authenticatorKey(`${key}====`), authenticatorKey(key));
  for (const text of ["", "GEZDGNBV", `${key}1`, `${key}!`]) {
    assertEquals(authenticatorKey(text), undefined);
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

sandboxTest("a code that was used is expired for the next login", {
  challenge: "SOFTWARE_TOKEN_MFA",
}, async ({ sandbox, clock }) => {
  const code = await sandbox.totp();
  const first = await respond(sandbox, await enter(sandbox), { SOFTWARE_TOKEN_MFA_CODE: code });
  assertEquals(first.status, 200);
  const asked = await enter(sandbox);
  assertMatch(
    fault(await respond(sandbox, asked, { SOFTWARE_TOKEN_MFA_CODE: code })),
    /^400 ExpiredCodeException: .* has already been used once\.$/,
  );
  clock.advance(30);
  const next = { SOFTWARE_TOKEN_MFA_CODE: await sandbox.totp() };
  assertEquals((await respond(sandbox, asked, next)).status, 200);
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
