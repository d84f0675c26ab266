import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  createSandbox,
  type SandboxOptions,
  startSandbox,
  type StartSandboxOptions,
} from "../../src/sandbox/mod.ts";
import "../support/sandbox_key.ts";

const REFUSED: [Record<string, unknown>, string][] = [
  [{ accessTokenSecond: 5 }, 'there is no option "accessTokenSecond"; use accessTokenSeconds, '],
  [{ accessTokenSeconds: 0 }, '"accessTokenSeconds" must be 1 to 86400, got 0'],
  [{ accessTokenSeconds: 1.5 }, '"accessTokenSeconds" must be a whole number'],
  [{ accessTokenSeconds: "60" }, '"accessTokenSeconds" must be a number, got string'],
  [{ refreshDays: NaN }, '"refreshDays" must be 0 to 3650, got NaN'],
  [{ words: "azure" }, '"words" must be one of "vendor", "aws", got "azure"'],
  [{ rotateRefreshTokens: "yes" }, '"rotateRefreshTokens" must be one of false, true'],
  [{ graceSeconds: 61 }, '"graceSeconds" must be 0 to 60, got 61'],
  [{ aliasSignIn: "yes" }, '"aliasSignIn" must be one of false, true'],
  [{ lockoutAfter: 0 }, '"lockoutAfter" must be 1 to 1000'],
  [{ throttlePerSecond: -1 }, '"throttlePerSecond" must be 1 to 1000000'],
  [{ challenge: "sms" }, '"challenge" must be a challenge name such as "NEW_PASSWORD_REQUIRED"'],
  [{ challenge: ["SMS_MFA", 7] }, '"challenge" must be a challenge name'],
  [{ trackDevices: "yes" }, '"trackDevices" must be one of false, true, "ask"'],
  [{ revocation: 1 }, '"revocation" must be one of true, false'],
  [{ refreshSecretHash: true }, '"refreshSecretHash" must be one of "optional"'],
  [{ clientSecret: "" }, '"clientSecret" must be a non-empty string'],
  [{ now: 5 }, '"now" must be a function'],
  [{ latencyMs: -1 }, '"latencyMs" must be 0 to 600000'],
  [{ failures: {} }, '"failures" must be an array'],
  [{ failures: [{ at: "portal", status: 500 }] }, '"at" must be "token" or "api"'],
  [{ failures: [{ at: "api", status: 99 }] }, '"status" must be a whole number from 200 to 599'],
  [{ failures: [{ at: "api", drop: "after" }] }, '"drop" must be "before" or "during"'],
  [{ failures: [{ at: "api", drop: "before", status: 500 }] }, '"drop" loses the response'],
  [{ failures: [{ at: "api", headers: {} }] }, '"headers" needs "status" or "body"'],
  [{ failures: [{ at: "api", status: 500, times: -1 }] }, '"times" must be a whole number'],
  [{ failures: [{ at: "api", delayMs: -1 }] }, '"delayMs" must be 0 to 600000'],
  [{ failures: [{ at: "api", code: 500 }] }, 'unknown field "code"'],
  [{ failures: [{ at: "api" }] }, 'set "status", "body", "drop" or "delayMs"'],
];

for (const [options, message] of REFUSED) {
  Deno.test(`createSandbox() refuses ${JSON.stringify(options)}`, () => {
    assertThrows(() => createSandbox(options as SandboxOptions), Error, message);
  });
}

for (const port of [-1, 65534, 1.5]) {
  Deno.test(`startSandbox() refuses the port ${port}`, async () => {
    await assertRejects(() => startSandbox({ port }), RangeError, '"port" must be');
  });
}

Deno.test("startSandbox() refuses a bad option before it opens a port", async () => {
  const options = { words: "azure" } as unknown as StartSandboxOptions;
  await assertRejects(() => startSandbox(options), TypeError, '"words" must be one of');
});

Deno.test("createSandbox() has the settings of the contract and keeps .env in its own folder", async () => {
  const sandbox = createSandbox();
  const { settings } = sandbox;
  assertEquals(Object.keys(settings), [
    "authUrl",
    "provider",
    "clientId",
    "clientSecret",
    "userPoolId",
    "username",
    "password",
    "apiBaseUrl",
    "envFile",
    "exportEnv",
    "allowedOrigins",
    "refreshSecretHash",
    "timeoutMs",
  ]);
  assertEquals([settings.provider, settings.exportEnv], ["vendor", "none"]);
  const folder = settings.envFile.replace(/[\\/]\.env$/, "");
  assertEquals(Deno.statSync(folder).isDirectory, true);
  Deno.writeTextFileSync(settings.envFile, "ACCESS_TOKEN=x\n");
  await sandbox.close();
  assertThrows(() => Deno.statSync(folder), Deno.errors.NotFound);
  await sandbox.close();
});
