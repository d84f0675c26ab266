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
  throw new ConfigError("INVALID_SETTING", `Cannot use ${name}: it was removed`, [{
    inProgram: "remove it, and pass a function that runs the command as the option token",
    inTerminal: "unset it, and set ACCESS_TOKEN to the token that the command prints",
  }]);
}
