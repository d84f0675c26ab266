import type { Program } from "../command.ts";
import { closest } from "../../values/wording.ts";

/** The sandbox imports nothing of the client, so it is given what it uses of it. */
export const command: Program = {
  summary: "run an identity provider, portal and API on this computer",
  async start(args) {
    const { runSandbox } = await import("../../sandbox/main.ts");
    return await runSandbox([...args], {
      closest,
      saveSettings: async (...given) =>
        await (await import("../settings_file.ts")).saveSandboxSettings(...given),
    });
  },
};
