import { assertEquals } from "@std/assert";
import { Authenticators } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { totpCode, totpStep } from "../../../src/sandbox/identity_provider/challenges/totp.ts";
import { Clock } from "../../support/clock.ts";

// Test vectors from RFC 6238, appendix B, column SHA-1.
const VECTORS: [number, string][] = [
  [59, "94287082"],
  [20000000000, "65353130"],
];

Deno.test("totpCode() returns the codes in RFC 6238", () => {
  const key = new TextEncoder().encode("12345678901234567890");
  for (const [seconds, code] of VECTORS) {
    assertEquals(totpCode(key, totpStep(seconds * 1000), 8), code);
    assertEquals(totpCode(key, totpStep(seconds * 1000)), code.slice(2));
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
