import type { Answer } from "./command.ts";
import { FAILED, LOGIN_NEEDED, say } from "./output.ts";
import { needsLogin } from "./unasked_login.ts";
import type { NoticeCode } from "../session/notices.ts";
import type { SessionStatus } from "../session/status.ts";

/** A status, with the exit status that it stands for. */
export function statusAnswer(found: SessionStatus): Answer {
  const status = needsLogin(found) ? LOGIN_NEEDED : 0;
  return { value: found, text: Deno.inspect(found), status };
}

/** The notices of a save that failed, to a file and to a store. */
const NOT_KEPT: readonly NoticeCode[] = ["NOT_SAVED", "STORE_AWAY"];

/** The status of a session that other commands must find: this process's memory ends with it. */
export function savedAnswer(found: SessionStatus): Answer {
  const answer = statusAnswer(found);
  if (!found.notices.some(({ code }) => NOT_KEPT.includes(code))) return answer;
  // Before the green mark of a successful login.
  say("The session was not saved, so no other command finds it; see the warning");
  return { ...answer, status: FAILED };
}
