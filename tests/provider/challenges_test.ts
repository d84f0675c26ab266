/** What each further step of a login asks the user for. */
import { assertEquals } from "@std/assert";
import { asksOf } from "../../src/provider/challenges.ts";
import type { IssuedChallenge } from "../../src/provider/protocol.ts";
import { documentText } from "../support/documented_flags.ts";

function issued(name: string, parameters: Readonly<Record<string, string>>): IssuedChallenge {
  return {
    kind: "challenge",
    name,
    parameters,
    attributes: ["name"],
    username: undefined,
    session: undefined,
  };
}

/** The names of the values that a step asks for. */
function asked(name: string, parameters: Readonly<Record<string, string>> = {}): string[] {
  return asksOf(issued(name, parameters), "ada").map((ask) => ask.name);
}

const ASKED: [step: string, names: string[], parameters?: Record<string, string>][] = [
  ["NEW_PASSWORD_REQUIRED", ["NEW_PASSWORD"]],
  ["NEW_PASSWORD_REQUIRED", ["NEW_PASSWORD", "userAttributes.email"], {
    requiredAttributes: '["userAttributes.name","userAttributes.email"]',
  }],
  ["SMS_MFA", ["SMS_MFA_CODE"]],
  ["SMS_OTP", ["SMS_OTP_CODE"]],
  ["EMAIL_OTP", ["EMAIL_OTP_CODE"]],
  ["SOFTWARE_TOKEN_MFA", ["SOFTWARE_TOKEN_MFA_CODE"]],
  ["SELECT_MFA_TYPE", ["ANSWER"]],
  ["MFA_SETUP", ["SOFTWARE_TOKEN_MFA_CODE"]],
  ["MFA_SETUP", ["SOFTWARE_TOKEN_MFA_CODE"], {
    MFAS_CAN_SETUP: '["SMS_MFA","SOFTWARE_TOKEN_MFA"]',
  }],
  ["MFA_SETUP", [], { MFAS_CAN_SETUP: '["SMS_MFA"]' }],
  ["CUSTOM_CHALLENGE", ["ANSWER"]],
  ["PASSWORD_VERIFIER", []],
  ["DEVICE_SRP_AUTH", []],
  ["DEVICE_PASSWORD_VERIFIER", []],
  ["SELECT_CHALLENGE", []],
  ["WEB_AUTHN", []],
  ["SOMETHING_NEW", []],
  ["constructor", []],
];

Deno.test("each further step lists the values that its answer must contain", () => {
  for (const [step, names, parameters] of ASKED) assertEquals(asked(step, parameters), names, step);
});

Deno.test("SELECT_MFA_TYPE offers the choices listed by the provider", () => {
  const choicesOf = (MFAS_CAN_CHOOSE?: string) => {
    const [ask] = asksOf(
      issued("SELECT_MFA_TYPE", MFAS_CAN_CHOOSE ? { MFAS_CAN_CHOOSE } : {}),
      "ada",
    );
    return ask?.choices;
  };
  assertEquals(choicesOf('["SMS_MFA","SOFTWARE_TOKEN_MFA"]'), ["SMS_MFA", "SOFTWARE_TOKEN_MFA"]);
  assertEquals(choicesOf('["SMS_MFA"]'), ["SMS_MFA"]);
  for (const none of [undefined, "[]", "not JSON", "7"]) assertEquals(choicesOf(none), []);
});

Deno.test("the prompt for CUSTOM_CHALLENGE shows the provider's parameters except user names", () => {
  const promptOf = (parameters: Readonly<Record<string, string>>) =>
    asksOf(issued("CUSTOM_CHALLENGE", parameters), "ada")[0]?.prompt;
  assertEquals(
    promptOf({ USERNAME: "ada", USER_ID_FOR_SRP: "ada" }),
    "Answer to the provider's question:",
  );
  assertEquals(
    promptOf({ USERNAME: "ada", hint: "your pet", round: "2" }),
    "Answer to the provider's question (hint: your pet, round: 2):",
  );
});

Deno.test("docs/troubleshooting.md describes each further step", () => {
  const text = documentText("docs/troubleshooting.md");
  const [, section = ""] = /^## CHALLENGE_REQUIRED$([^]*?)^## /m.exec(text) ?? [];
  const names = new Set(ASKED.map(([step]) => step).filter((step) => /^[A-Z]/.test(step)));
  names.delete("SOMETHING_NEW");
  const missing = [...names].filter((name) => !section.includes(`\`${name}\``));
  assertEquals(missing, [], "say it in docs/troubleshooting.md, under CHALLENGE_REQUIRED");
});
