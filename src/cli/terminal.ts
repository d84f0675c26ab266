import type { FrontEnd } from "../errors/advice.ts";

/** For `login --portal` in a program that cannot prompt. */
const PIPED =
  "platform-auth login --portal in a terminal, or pipe the portal's string to it with --stdin";

/** The commands that correspond to the calls of the library. */
export const TERMINAL: FrontEnd = {
  call(call) {
    const options = call.call === "login" ? call.options : undefined;
    if (options?.portalToken) return PIPED;
    if (options?.strategy) return `platform-auth login --${options.strategy}`;
    if (options?.force) return "platform-auth login --force";
    return `platform-auth ${call.call}`;
  },
  inProgram: ({ inTerminal = "" }) => inTerminal,
};
