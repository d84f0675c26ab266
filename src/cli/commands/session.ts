/** Commands that each call one function of the default session. */
import type { Answer, Given } from "../command.ts";
import { readInputText } from "../input.ts";
import { FAILED, LOGIN_NEEDED, UsageError } from "../output.ts";
import { doctor, login, logout, readStore, refresh, status } from "../../default_session.ts";
import type { LoginOptions } from "../../session/login.ts";
import type { NoticeCode } from "../../session/notices.ts";
import { VARIABLES } from "../../settings/options.ts";
import { needsLogin, type SessionStatus } from "../../session/status.ts";

interface LoginFlags {
  readonly portal: boolean;
  readonly username: string;
  readonly stdin: boolean;
  readonly force: boolean;
}

export async function runLogin(
  { options: { portal, username, stdin, force } }: Given<LoginFlags>,
): Promise<Answer> {
  const options: LoginOptions = {};
  if (force) options.force = true;
  if (username !== undefined) {
    options.username = username;
    options.strategy = "password";
  }
  if (portal) options.strategy = "portal";
  if (stdin) options[portal ? "portalToken" : "password"] = await readSecret();
  return savedAnswer(await login(options));
}

/**
 * Reads a secret from the first line of standard input. A password may contain any character except
 * a line break.
 */
async function readSecret(): Promise<string> {
  const [line] = (await readInputText("--stdin", "-")).split(/\r\n?|\n/, 1);
  if (line) return line;
  throw new UsageError(
    "The first line of standard input is empty",
    "write the secret on the first line",
  );
}

export async function runRefresh(): Promise<Answer> {
  return savedAnswer(await refresh());
}

export async function runLogout(
  { options }: Given<{ everywhere: boolean; "keep-remote": boolean }>,
): Promise<Answer> {
  const { everywhere = false, "keep-remote": keepRemote = false } = options;
  const before = status();
  const found = await logout({ everywhere, revoke: !keepRemote });
  // `status()` does not read a store, and a notice may be about stored tokens.
  const wasNone = before.state === "none" && before.settings[VARIABLES.store] === undefined &&
    before.notices.length + found.notices.length === 0;
  return { value: found, text: wasNone ? "There was no session." : Deno.inspect(found) };
}

export async function runDoctor({ options }: Given<{ login: boolean }>): Promise<Answer> {
  const found = await doctor({ login: options.login ?? false });
  return { value: found, text: Deno.inspect(found), status: found.ok ? 0 : FAILED };
}

export async function runStatus(): Promise<Answer> {
  await readStore();
  return statusAnswer(status());
}

/**
 * Returns the status of a session as the answer of a command. The exit status says whether a login
 * is necessary.
 */
function statusAnswer(found: SessionStatus): Answer {
  return { value: found, text: Deno.inspect(found), status: needsLogin(found) ? LOGIN_NEEDED : 0 };
}

/** Notices that the session could not be saved to the file or to the store. */
const NOT_KEPT: readonly NoticeCode[] = ["NOT_SAVED", "STORE_AWAY"];

/**
 * Returns the status of a new session as the answer of a command. If the session was not saved,
 * later commands cannot use it, so the exit status is a failure.
 */
function savedAnswer(found: SessionStatus): Answer {
  const answer = statusAnswer(found);
  const isLost = found.notices.some(({ code }) => NOT_KEPT.includes(code));
  return isLost ? { ...answer, status: FAILED } : answer;
}
