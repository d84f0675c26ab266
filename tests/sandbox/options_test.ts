import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createSandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/mod.ts";
import "../support/quick_signatures.ts";

const REFUSED: [Record<string, unknown>, string][] = [
  [{ accessTokenSecond: 5 }, 'there is no option "accessTokenSecond"; use accessTokenSeconds, '],
  [{ accessTokenSeconds: 0 }, '"accessTokenSeconds" must be 1 to 86400, got 0'],
  [{ words: "azure" }, '"words" must be one of "vendor", "aws", got "azure"'],
  [{ challenge: "sms" }, '"challenge" must be a challenge name such as "NEW_PASSWORD_REQUIRED"'],
  [{ failures: [{ at: "api" }] }, 'set "status", "body", "drop" or "delayMs"'],
];

Deno.test("an option that cannot be used is refused with an explanation", async () => {
  for (const [options, message] of REFUSED) {
    assertThrows(() => createSandbox(options as SandboxOptions), Error, message);
  }
  await assertRejects(() => startSandbox({ port: 65534 }), RangeError, '"port" must be');
});

Deno.test("createSandbox() makes a folder for the .env, which close() removes", async () => {
  const sandbox = createSandbox();
  const { settings } = sandbox;
  const folder = settings.envFile.replace(/[\\/]\.env$/, "");
  assertEquals(Deno.statSync(folder).isDirectory, true);
  Deno.writeTextFileSync(settings.envFile, "ACCESS_TOKEN=x\n");
  await sandbox.close();
  assertThrows(() => Deno.statSync(folder), Deno.errors.NotFound);
  await sandbox.close();
});
