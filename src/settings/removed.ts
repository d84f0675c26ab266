import { ConfigError } from "../errors/errors.ts";

/**
 * Refuses the setting of an earlier version that `token` replaced.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the setting is set.
 */
export function refuseTokenCommand(
  name: "tokenCommand" | "AUTH_TOKEN_COMMAND",
  value: unknown,
): void {
  if (!value) return;
  throw new ConfigError("INVALID_SETTING", `Cannot use ${name}: this setting no longer exists`, [{
    inProgram: "remove it, and set the option token to a function that runs the command",
    inTerminal: "unset it, and set ACCESS_TOKEN to the token that the command prints",
  }]);
}
