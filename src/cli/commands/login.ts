import { defineCommand } from "../command.ts";
import { copySettings } from "../settings_file.ts";
import { printKept, say, UsageError } from "../output.ts";
import { namedEnvFile } from "../../settings/env_location.ts";
import { login } from "../../default_session.ts";
import type { LoginOptions } from "../../session/login.ts";
import { logsInUnasked, type SessionStatus } from "../../session/status.ts";

export const command = defineCommand({
  summary: "get tokens: portal string, or user name and password",
  synonyms: ["signin", "logon", "auth", "authenticate", "connect"],
  description: `Gets tokens and keeps them in the .env. A session that is still valid is kept.
On a terminal it asks for what else the provider wants: a code, a new password.`,
  options: {
    portal: { type: "boolean", help: 'with the string of the portal\'s "Copy Token"' },
    username: {
      type: "string",
      value: "<name>",
      help: "with this user name instead of USERNAME",
    },
    stdin: {
      type: "boolean",
      help: "read the portal string or the password from standard input",
    },
    like: {
      type: "string",
      value: "<file>",
      help:
        "first copy the settings of this .env into the one that\n--env-file names: for another account",
    },
    force: { type: "boolean", help: "log in even if the session is still valid" },
  },
  either: [["portal", "username"]],
  examples: [
    "platform-auth login",
    "platform-auth login --portal",
    "platform-auth login --username ada --stdin < password.txt",
    "platform-auth login --env-file .env.ben --like .env",
  ],
  async run({ options: { portal, username, stdin, like, force }, envFile, json }) {
    if (like !== undefined) await copyFrom(like, envFile);
    const options: LoginOptions = {};
    if (force) options.force = true;
    if (username !== undefined) {
      options.username = username;
      options.strategy = "password";
    }
    if (portal) options.strategy = "portal";
    if (stdin) options[portal ? "portalToken" : "password"] = await readSecret();
    const found = await login(options);
    const done = await printKept(found, json);
    tellIfNotNeeded(found);
    return done;
  },
});

/** The account that the settings are copied for has a file of its own. */
async function copyFrom(like: string, envFile: string | undefined): Promise<void> {
  const [from, to] = [like, envFile ?? "false"].map((name) => namedEnvFile(name).path);
  if (from === undefined || to === undefined) {
    throw new UsageError(
      "login --like copies settings into another .env",
      "name both: --env-file .env.ben --like .env",
    );
  }
  await copySettings(from, to);
}

/** A session in memory ends with this command. Commands that log in by themselves do not need it. */
function tellIfNotNeeded(found: SessionStatus): void {
  const { envFile, store, source, notices } = found;
  if (envFile !== undefined || store !== undefined || source === "command") return;
  // A place is named already, and the warning tells what is wrong with it.
  if (notices.some(({ code }) => code === "NOT_SAVED")) return;
  say(
    logsInUnasked(found)
      ? "nothing is kept, and this login is not needed: fetch and token log in by themselves with " +
        "the settings of the environment"
      : "nothing is kept, so fetch and token do not find this session; name a file with --env-file",
  );
}

/** The secret is the first line: a password may hold any other character. */
async function readSecret(): Promise<string> {
  const text = await new Response(Deno.stdin.readable).text();
  const line = text.replace(/\r?\n[\s\S]*$/, "");
  if (line === "") {
    throw new UsageError(
      "The first line of standard input is empty",
      "give the secret on one line",
    );
  }
  return line;
}
