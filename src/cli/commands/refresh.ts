import { defineCommand } from "../command.ts";
import { printKept } from "../output.ts";
import { refresh } from "../../default_session.ts";

export const command = defineCommand({
  summary: "refresh now (rarely needed)",
  synonyms: ["renew", "update", "reload"],
  description: "Refreshes the session now, whatever time is left.",
  options: {},
  examples: ["platform-auth refresh"],
  async run({ json }) {
    return await printKept(await refresh(), json);
  },
});
