import { assertEquals } from "@std/assert";
import { asksOf, type ChallengeAsk } from "../../src/provider/challenges.ts";
import { sectionOf } from "../support/documented_flags.ts";

/** What a step with these parameters asks the user for. */
function asked(name: string, parameters: Record<string, string>): readonly ChallengeAsk[] {
  const issued = { kind: "challenge", name, parameters, attributes: [] } as const;
  return asksOf({ ...issued, username: undefined, session: undefined }, "ada");
}

Deno.test("MFA_SETUP asks for a code only if an authenticator app can be set up", () => {
  const names = (MFAS_CAN_SETUP: string) =>
    asked("MFA_SETUP", { MFAS_CAN_SETUP }).map(({ name }) => name);
  assertEquals(names('["SMS_MFA","SOFTWARE_TOKEN_MFA"]'), ["SOFTWARE_TOKEN_MFA_CODE"]);
  assertEquals(names('["SMS_MFA"]'), []);
});

Deno.test("the prompt for CUSTOM_CHALLENGE shows the provider's parameters except user names", () => {
  const promptOf = (more: Record<string, string>) =>
    asked("CUSTOM_CHALLENGE", { USERNAME: "ada", USER_ID_FOR_SRP: "ada", ...more })[0]?.prompt;
  assertEquals(promptOf({}), "Answer to the provider's question:");
  assertEquals(
    promptOf({ hint: "your pet", round: "2" }),
    "Answer to the provider's question (hint: your pet, round: 2):",
  );
});

Deno.test("docs/troubleshooting.md describes each further step", () => {
  const section = sectionOf("docs/troubleshooting.md", "CHALLENGE_REQUIRED");
  const names = [
    ...["NEW_PASSWORD_REQUIRED", "SMS_MFA", "SMS_OTP", "EMAIL_OTP", "SOFTWARE_TOKEN_MFA"],
    ...["SELECT_MFA_TYPE", "MFA_SETUP", "CUSTOM_CHALLENGE", "PASSWORD_VERIFIER", "WEB_AUTHN"],
    ...["DEVICE_SRP_AUTH", "DEVICE_PASSWORD_VERIFIER", "SELECT_CHALLENGE"],
  ];
  assertEquals(names.filter((name) => !section.includes(`\`${name}\``)), []);
});
