/** The settings of earlier versions: the error for each one names its replacement. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ConfigError, createSession, type SessionOptions } from "../../mod.ts";
import { inCliWorld } from "../support/cli_world.ts";

Deno.test("an option of an earlier version causes INVALID_SETTING", () => {
  for (const [name, instead] of [["tokenCommand", "option token"]] as const) {
    const options = { [name]: "x" } as SessionOptions;
    const error = assertThrows(() => createSession(options), ConfigError, instead);
    assertEquals(error.code, "INVALID_SETTING");
  }
});

Deno.test("a command fails if a variable of an earlier version is set and not empty", () =>
  inCliWorld(async ({ run }) => {
    for (const [name, instead] of [["AUTH_TOKEN_COMMAND", "ACCESS_TOKEN"]] as const) {
      const { code, stderr } = await run(["fetch", "/v1/whoami"], { env: { [name]: "x" } });
      assertEquals(code, 1);
      assertMatch(stderr, new RegExp(`${name}.*${instead}`));
      assertEquals((await run(["fetch", "/v1/whoami"], { env: { [name]: "" } })).code, 0);
    }
  }));
