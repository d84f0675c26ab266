import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parseEnv } from "node:util";
import { describeSandbox, parseSandboxArgs } from "../../src/sandbox/main.ts";
import { sandboxTest } from "./requests.ts";

const CLI = new URL("../../src/cli.ts", import.meta.url).href;

/** The options of a command line that are set. */
function optionsOf(line: string): Record<string, unknown> {
  const { options } = parseSandboxArgs(line.split(" ").filter((word) => word !== ""));
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const LINES: [string, Record<string, unknown>][] = [
  ["", { port: 8410 }],
  ["--port 0 --access-token-seconds=60 --words aws --rotate get-tokens", {
    port: 0,
    accessTokenSeconds: 60,
    words: "aws",
    rotateRefreshTokens: "get-tokens",
  }],
  ["--alias --public-client", { port: 8410, aliasSignIn: true, clientSecret: false }],
  ["--challenge NEW_PASSWORD_REQUIRED,MFA_SETUP --track-devices ask --no-revocation", {
    port: 8410,
    challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"],
    trackDevices: "ask",
    revocation: false,
  }],
  ["--track-devices on", { port: 8410, trackDevices: true }],
  ["--port x", { port: NaN }],
  ["--port=", { port: NaN }],
];

Deno.test("parseSandboxArgs() turns the command line into options", () => {
  for (const [line, options] of LINES) assertEquals(optionsOf(line), options, line);
  assertEquals(parseSandboxArgs(["-h"]).help, true);
});

Deno.test("parseSandboxArgs() refuses what it does not know without repeating it", () => {
  for (const line of ["--port", "--hunter2", "--hunter2=x", "hunter2", "--alias=hunter2"]) {
    const { message } = assertThrows(() => parseSandboxArgs([line]), TypeError);
    // What was typed by mistake may be a secret.
    assertEquals(message.includes("hunter2"), false, message);
  }
});

sandboxTest(
  "describeSandbox() prints lines that a .env reader accepts",
  {},
  ({ sandbox }) => {
    const { settings } = sandbox;
    assertEquals(parseEnv(describeSandbox(sandbox)), {
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
  },
);

const command = (...args: string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-net=127.0.0.1", "--allow-write", "--allow-env", CLI]
      .concat("sandbox", args),
    stdout: "piped",
    stderr: "piped",
  });

Deno.test("the command serves until it is interrupted and exits with 0", async () => {
  await using process = command("--port", "0").spawn();
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
  await process.stderr.cancel();
  // On Windows a process can only be killed, not asked to end.
  assertEquals((await process.status).code, Deno.build.os === "windows" ? 1 : 0);
  await reader.cancel();
});

Deno.test("the command exits with 2 and a hint for a wrong option", async () => {
  const { code, stderr } = await command("--words", "azure").output();
  assertEquals(code, 2);
  const message = new TextDecoder().decode(stderr).replace(/\s+/g, " ");
  assertMatch(message, /"words" must be one of "vendor", "aws", got "azure" See .*--help/);
});
