import type { Answer, Given } from "../command.ts";
import { say, UsageError } from "../output.ts";
import { savedAnswer } from "../status_answer.ts";
import { login } from "../../default_session.ts";
import type { LoginOptions } from "../../session/login.ts";
import { logsInUnasked, type SessionStatus } from "../../session/status.ts";

export async function run(
  { options: { portal, username, stdin, force } }: Given<
    { portal: boolean; username: string; stdin: boolean; force: boolean }
  >,
): Promise<Answer> {
  const options: LoginOptions = {};
  if (force) options.force = true;
  if (username !== undefined) {
    options.username = username;
    options.strategy = "password";
  }
  if (portal) options.strategy = "portal";
  if (stdin) options[portal ? "portalToken" : "password"] = await readSecret();
  const found = await login(options);
  const answer = savedAnswer(found);
  sayIfNotNeeded(found);
  return answer;
}

/** A session in memory ends with this command, and commands that log in by themselves do not need it. */
function sayIfNotNeeded(found: SessionStatus): void {
  const { envFile, store, source, notices } = found;
  if (envFile !== undefined || store !== undefined || source === "command") return;
  // A place is named already, and the warning says what is wrong with it.
  if (notices.some(({ code }) => code === "NOT_SAVED")) return;
  say(
    logsInUnasked(found)
      ? "nothing is saved, and this login is not needed: fetch and token log in by themselves with " +
        "the settings of the environment"
      : "nothing is saved, so fetch and token do not find this session; name a file with --env-file",
  );
}

/** The secret is the first line: a password may contain any other character. */
async function readSecret(): Promise<string> {
  const text = await new Response(Deno.stdin.readable).text();
  const line = text.replace(/\r?\n[\s\S]*$/, "");
  if (line !== "") return line;
  throw new UsageError("The first line of standard input is empty", "give the secret on one line");
}
