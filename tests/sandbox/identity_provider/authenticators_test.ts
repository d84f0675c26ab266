import { assertEquals } from "@std/assert";
import { Authenticators } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { Clock } from "../../support/clock.ts";

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
