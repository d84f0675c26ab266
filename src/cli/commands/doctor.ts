import { defineCommand } from "../command.ts";
import { FAILED, OK, printDiagnosis, printJson } from "../output.ts";
import { doctor } from "../../default_session.ts";

export const command = defineCommand({
  summary: "check settings, file, clock, provider, API and token",
  synonyms: ["check", "diagnose", "diagnosis", "test", "debug", "verify", "ping"],
  description: `Checks settings, file, clock, provider, API and token, a line each with the fix.
Changes nothing.`,
  options: {
    login: {
      type: "boolean",
      help: "also log in, refresh once and end that login, to see if it works",
    },
  },
  examples: ["platform-auth doctor", "platform-auth doctor --login"],
  async run({ options: { login = false }, json }) {
    const diagnosis = await doctor({ login });
    await (json ? printJson(diagnosis) : printDiagnosis(diagnosis));
    return diagnosis.ok ? OK : FAILED;
  },
});
