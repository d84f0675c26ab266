import type { Answer, Given } from "../command.ts";
import { wholeNumber } from "../input.ts";
import { warn } from "../output.ts";
import { logInUnasked } from "../unasked_login.ts";
import { accessToken, apiBase, status } from "../../default_session.ts";

export async function run(
  { options, envFile, json }: Given<{ "min-valid": string }>,
): Promise<Answer> {
  const minValidSeconds = wholeNumber("--min-valid", options["min-valid"] ?? "0");
  await logInUnasked(envFile);
  const token = await accessToken({ minValidSeconds });
  const found = status();
  warn(found);
  const end = found.accessTokenExpiresAt?.toISOString();
  const base = json ? apiBase()?.href : undefined;
  return {
    value: {
      access_token: token,
      ...(end && { expires_at: end }),
      ...(base && { api_base_url: base }),
      warnings: found.warnings,
    },
    text: token,
  };
}
