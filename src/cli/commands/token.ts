import { defineCommand } from "../command.ts";
import { logInUnasked } from "../unasked_login.ts";
import { OK, print, printJson, UsageError, warn } from "../output.ts";
import { accessToken, status } from "../../default_session.ts";

export const command = defineCommand({
  summary: "print a current access token and nothing else",
  synonyms: ["accesstoken", "bearer", "jwt", "print"],
  description: `Prints a current access token and nothing else, refreshed if needed.
Treat it as a password. Without a session it logs in by itself where user name
and password are set, in the .env or in the environment; not where AUTH_STORE is
set, which keeps the session of all machines.`,
  options: {
    "min-valid": {
      type: "string",
      value: "<seconds>",
      help: "refresh first if the token expires sooner than this",
    },
    json: {
      type: "boolean",
      help: '{ "access_token", "expires_at" }, which\nAUTH_TOKEN_COMMAND understands',
    },
  },
  examples: [
    "platform-auth token | sed 's/^/authorization: bearer /' | curl -H @- URL",
    "platform-auth token --min-valid 600",
  ],
  async run({ options, envFile, json }) {
    const minValidSeconds = seconds(options["min-valid"]);
    await logInUnasked(envFile);
    const token = await accessToken({ minValidSeconds });
    await (json ? printJson(tokenAnswer(token)) : print(token));
    warn(status());
    return OK;
  },
});

/** A token as AUTH_TOKEN_COMMAND takes it elsewhere. */
function tokenAnswer(token: string): Record<string, string> {
  const { accessTokenExpiresAt: end } = status();
  return { access_token: token, ...(end && { expires_at: end.toISOString() }) };
}

function seconds(text = "0"): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < 1e9)) {
    throw new UsageError("--min-valid takes a number of seconds");
  }
  return value;
}
