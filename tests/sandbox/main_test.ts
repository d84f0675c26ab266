import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parseEnv } from "node:util";
import { describeSandbox, parseSandboxArgs } from "../../src/sandbox/main.ts";
import { sandboxAt } from "./requests.ts";

const MAIN = new URL("../../src/sandbox/main.ts", import.meta.url).href;

Deno.test("parseSandboxArgs() turns the command line into options", () => {
  assertEquals(parseSandboxArgs([]), { port: 8410 });
  assertEquals(
    parseSandboxArgs(
      "--port 0 --access-token-seconds=60 --words aws --rotate get-tokens".split(" "),
    ),
    { port: 0, accessTokenSeconds: 60, words: "aws", rotateRefreshTokens: "get-tokens" },
  );
  assertEquals(parseSandboxArgs(["--alias", "--public-client"]), {
    port: 8410,
    aliasSignIn: true,
    clientSecret: false,
  });
  const steps = "--challenge NEW_PASSWORD_REQUIRED,MFA_SETUP --track-devices ask --no-revocation";
  assertEquals(parseSandboxArgs(steps.split(" ")), {
    port: 8410,
    challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"],
    trackDevices: "ask",
    revocation: false,
  });
  assertEquals(parseSandboxArgs(["--track-devices", "on"]), { port: 8410, trackDevices: true });
  assertEquals(parseSandboxArgs(["--help"]), undefined);
});

for (
  const args of [
    ...[["--port", "x"], ["--port="], ["--port"], ["--words", "azure"]],
    ...[["--hunter2"], ["--hunter2=x"], ["hunter2"], ["--alias=hunter2"]],
  ]
) {
  Deno.test(`parseSandboxArgs() refuses ${args.join(" ")}`, () => {
    const { message } = assertThrows(() => parseSandboxArgs(args), TypeError);
    // What was typed by mistake may be a secret.
    assertEquals(message.includes("hunter2"), false, message);
  });
}

Deno.test("describeSandbox() prints lines that a .env reader takes", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { settings } = sandbox;
  const values = parseEnv(describeSandbox(sandbox));
  assertEquals(values, {
    AUTH_URL: settings.authUrl,
    AUTH_PROVIDER: settings.provider,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    USERNAME: settings.username,
    PASSWORD: settings.password,
    API_BASE_URL: settings.apiBaseUrl,
    PORTAL_URL: sandbox.portalUrl,
  });
});

Deno.test("main.ts serves until it is interrupted and leaves with 0", async () => {
  await using process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-net=127.0.0.1", "--allow-write", MAIN, "--port", "0"],
    stdout: "piped",
  }).spawn();
  let text = "";
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("Ctrl+C")) {
    const { value, done } = await reader.read();
    assert(!done, "it ended early");
    text += value;
  }
  const apiUrl = /^API_BASE_URL=(.+)$/m.exec(text)?.[1] ?? "";
  const health = await fetch(`${apiUrl}/health`);
  assertEquals(await health.json(), { status: "ok" });
  process.kill("SIGINT");
  // On Windows a process can only be ended, not asked to end.
  assertEquals((await process.status).code, Deno.build.os === "windows" ? 1 : 0);
  await reader.cancel();
});

Deno.test("main.ts leaves with 2 and a hint for a wrong option", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", MAIN, "--words", "azure"],
  }).output();
  assertEquals(code, 2);
  assertMatch(new TextDecoder().decode(stderr), /--words must be vendor or aws.*\n.*--help/);
});
