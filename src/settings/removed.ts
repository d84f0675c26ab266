import type { Fix } from "../errors/advice.ts";
import { ConfigError } from "../errors/errors.ts";

/** A setting of an earlier version, and what to use instead. */
interface Removed {
  readonly option?: string;
  readonly variable?: string;
  readonly instead: Fix;
}

const REMOVED: readonly Removed[] = [
  {
    option: "tokenCommand",
    variable: "AUTH_TOKEN_COMMAND",
    instead: [{
      inProgram: "remove it, and pass a function that runs the command as the option token",
      inTerminal: "unset it, and set ACCESS_TOKEN to the token that the command prints",
    }],
  },
];

/** @throws {ConfigError} `INVALID_SETTING` if an option or a variable of an earlier version is set. */
export function refuseRemoved(kind: "option" | "variable", isSet: (name: string) => boolean): void {
  for (const removed of REMOVED) {
    const name = removed[kind];
    if (name === undefined || !isSet(name)) continue;
    throw new ConfigError("INVALID_SETTING", `Cannot use ${name}: it was removed`, removed.instead);
  }
}
