import type { Program } from "../command.ts";
import { errorLine } from "../output.ts";
import { environment } from "../../platform/environment.ts";
import { closest } from "../../errors/closest.ts";

/** A task of Deno's names the folder that it was started in. Only a clone has the task. */
const COMMAND = import.meta.url.endsWith("/src/cli/commands/sandbox.ts") && environment("INIT_CWD")
  ? "deno task sandbox"
  : "platform-auth sandbox";

/** The sandbox imports nothing of the client, so it is given what it uses of it. */
export const command: Program = {
  synonyms: ["demo", "serve", "server", "mock", "simulate"],
  summary: "run an identity provider, portal and API on this computer",
  async start(args) {
    const { runSandbox } = await import("../../sandbox/main.ts");
    return await runSandbox([...args], {
      command: COMMAND,
      closest,
      fitted: errorLine,
      saveSettings: async (...given) =>
        await (await import("../settings_file.ts")).saveSandboxSettings(...given),
    });
  },
};
