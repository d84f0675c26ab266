import type { Answer, Given } from "../command.ts";
import { UsageError } from "../failure.ts";
import { warn } from "../output.ts";
import { logInUnasked } from "../unasked_login.ts";
import { accessToken, status } from "../../default_session.ts";

export async function run(
  { options, envFile }: Given<{ "min-valid": string }>,
): Promise<Answer> {
  const minValidSeconds = seconds(options["min-valid"]);
  await logInUnasked(envFile);
  const token = await accessToken({ minValidSeconds });
  const found = status();
  warn(found);
  const end = found.accessTokenExpiresAt?.toISOString();
  // As AUTH_TOKEN_COMMAND takes it elsewhere.
  return { value: { access_token: token, ...(end && { expires_at: end }) }, text: token };
}

function seconds(text = "0"): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < 1e9)) {
    throw new UsageError("--min-valid takes a number of seconds");
  }
  return value;
}
