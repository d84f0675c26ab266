import type { Answer, Given } from "../command.ts";
import { FAILED } from "../output.ts";
import { doctor } from "../../default_session.ts";

export async function run({ options }: Given<{ login: boolean }>): Promise<Answer> {
  const found = await doctor({ login: options.login ?? false });
  return { value: found, text: Deno.inspect(found), status: found.ok ? 0 : FAILED };
}
