import { defineCommand } from "../command.ts";
import { printStatus } from "../output.ts";
import { accessToken, status } from "../../default_session.ts";
import { ConfigError } from "../../errors/errors.ts";

export const command = defineCommand({
  summary: "who is signed in, until when, where it is kept",
  synonyms: ["whoami", "who", "me", "info", "show", "session"],
  description: `Shows who is signed in, until when, and where that is kept. Sends no request,
but to a store (AUTH_STORE), as the first call does: a token that has ended is
refreshed.`,
  options: {},
  examples: ["platform-auth status", "platform-auth status --json"],
  async run({ json }) {
    if (status().store !== undefined) await askStore();
    return await printStatus(status(), json);
  },
});

/** Asks the store, as a call does: only then it is known what the store holds. */
async function askStore(): Promise<void> {
  try {
    await accessToken();
  } catch (error) {
    // The status tells whether there is a session.
    if (error instanceof ConfigError) throw error;
  }
}
