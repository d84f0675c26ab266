import { errorLine } from "../output.ts";
import { environment } from "../../platform/environment.ts";
import { closest } from "../../errors/closest.ts";
import { runSandbox } from "../../sandbox/main.ts";

/** A task of Deno's sets the folder that it was started in. Only a clone has the task. */
const COMMAND = import.meta.url.endsWith("/src/cli/commands/sandbox.ts") && environment("INIT_CWD")
  ? "deno task sandbox"
  : "platform-auth sandbox";

/** The sandbox imports nothing from the client, so it is given what it needs of it. */
export function start(args: readonly string[]): Promise<number> {
  return runSandbox([...args], {
    command: COMMAND,
    closest,
    fitted: errorLine,
    saveSettings: async (...given) =>
      await (await import("../settings_file.ts")).saveSandboxSettings(...given),
  });
}
