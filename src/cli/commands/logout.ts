import { defineCommand } from "../command.ts";
import { OK, printStatus } from "../output.ts";
import { logout } from "../../default_session.ts";

export const command = defineCommand({
  summary: "forget the tokens, and revoke the refresh token",
  synonyms: ["signout", "logoff", "revoke", "disconnect"],
  description: `Forgets the tokens: takes them out of the .env, and has the provider revoke the
refresh token.`,
  options: {
    everywhere: { type: "boolean", help: "sign the account out on all devices" },
    "keep-remote": {
      type: "boolean",
      help: "forget the tokens here only; the provider is not told",
    },
  },
  either: [["everywhere", "keep-remote"]],
  examples: ["platform-auth logout", "platform-auth logout --everywhere"],
  async run({ options, json }) {
    const { everywhere = false, "keep-remote": keepRemote = false } = options;
    await printStatus(await logout({ everywhere, revoke: !keepRemote }), json);
    return OK;
  },
});
