import type { Answer } from "../command.ts";
import { savedAnswer } from "../status_answer.ts";
import { refresh } from "../../default_session.ts";

export async function run(): Promise<Answer> {
  return savedAnswer(await refresh());
}
