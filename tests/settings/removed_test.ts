/** The setting of an earlier version: the error names its replacement. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { inCliWorld } from "../support/cli_world.ts";

Deno.test("the option `tokenCommand` of an earlier version causes INVALID_SETTING", () => {
  const options = { tokenCommand: "x" } as SessionOptions;
  const error = assertThrows(() => createSession(options), ConfigError, "the option token");
  assertEquals(error.code, "INVALID_SETTING");
});

Deno.test("a command fails if AUTH_TOKEN_COMMAND is set and not empty", () =>
  inCliWorld(async ({ run }) => {
    const fetchWith = (AUTH_TOKEN_COMMAND: string) =>
      run(["fetch", "/v1/whoami"], { env: { AUTH_TOKEN_COMMAND } });
    const { code, stderr } = await fetchWith("x");
    assertEquals(code, 1);
    assertMatch(stderr, /AUTH_TOKEN_COMMAND.*ACCESS_TOKEN/);
    assertEquals((await fetchWith("")).code, 0);
  }));
