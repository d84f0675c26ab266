import type { Answer, Given } from "../command.ts";
import { statusAnswer } from "../status_answer.ts";
import { logout } from "../../default_session.ts";

export async function run(
  { options }: Given<{ everywhere: boolean; "keep-remote": boolean }>,
): Promise<Answer> {
  const { everywhere = false, "keep-remote": keepRemote = false } = options;
  const found = await logout({ everywhere, revoke: !keepRemote });
  return { ...statusAnswer(found), status: 0 };
}
