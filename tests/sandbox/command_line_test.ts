import { assertEquals } from "@std/assert";
import { optionsOf } from "../../src/sandbox/command_line.ts";

const CASES: [flags: Parameters<typeof optionsOf>[0], options: Record<string, unknown>][] = [
  [{}, { port: 8410 }],
  [{ port: "0", "access-token-seconds": "60", words: "aws" }, {
    port: 0,
    accessTokenSeconds: 60,
    words: "aws",
  }],
  [{ challenge: "NEW_PASSWORD_REQUIRED,MFA_SETUP", "refresh-days": "0.5" }, {
    port: 8410,
    challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"],
    refreshDays: 0.5,
  }],
  [{ port: "x" }, { port: NaN }],
];

Deno.test("command-line options become options of the sandbox", () => {
  for (const [flags, options] of CASES) {
    const set = Object.entries(optionsOf(flags)).filter(([, value]) => value !== undefined);
    assertEquals(Object.fromEntries(set), options);
  }
});
