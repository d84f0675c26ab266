import { assertEquals } from "@std/assert";
import { optionsOf } from "../../src/sandbox/command_line.ts";

const CASES: [flags: Parameters<typeof optionsOf>[0], options: Record<string, unknown>][] = [
  [{}, { port: 8410 }],
  [{ port: "0", "access-token-seconds": "60", words: "aws", rotate: "get-tokens" }, {
    port: 0,
    accessTokenSeconds: 60,
    words: "aws",
    rotateRefreshTokens: "get-tokens",
  }],
  [{ "public-client": true }, { port: 8410, clientSecret: false }],
  [
    { challenge: "NEW_PASSWORD_REQUIRED,MFA_SETUP", "no-revocation": true },
    { port: 8410, challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"], revocation: false },
  ],
  [{ "track-devices": "on" }, { port: 8410, trackDevices: true }],
];

Deno.test("command-line options become options of the sandbox", () => {
  for (const [flags, options] of CASES) {
    const set = Object.entries(optionsOf(flags)).filter(([, value]) => value !== undefined);
    assertEquals(Object.fromEntries(set), options);
  }
});
