import type { Answer, Given } from "../command.ts";
import { wholeNumber } from "../input.ts";
import { warn } from "../output.ts";
import { logInUnasked } from "../unasked_login.ts";
import { accessToken, status } from "../../default_session.ts";

export async function run(
  { options, envFile }: Given<{ "min-valid": string }>,
): Promise<Answer> {
  const minValidSeconds = wholeNumber("--min-valid", options["min-valid"] ?? "0");
  await logInUnasked(envFile);
  const token = await accessToken({ minValidSeconds });
  const found = status();
  warn(found);
  const end = found.accessTokenExpiresAt?.toISOString();
  return { value: { access_token: token, ...(end && { expires_at: end }) }, text: token };
}
