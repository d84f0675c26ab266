import type { Answer } from "../command.ts";
import { needsLogin } from "../unasked_login.ts";
import { statusAnswer } from "../status_answer.ts";
import { accessToken, status } from "../../default_session.ts";
import { ConfigError } from "../../errors/errors.ts";
import { environment } from "../../platform/environment.ts";
import { displayPath } from "../../platform/paths.ts";
import { readEnvFile } from "../../settings/env_file.ts";
import { ENV_FILE_VARIABLE } from "../../settings/options.ts";

export async function run(): Promise<Answer> {
  if (status().store !== undefined) await askStore();
  const found = status();
  const answer = statusAnswer(found);
  const elsewhere = needsLogin(found) && sessionOfHome(found.envFile);
  return elsewhere ? { ...answer, text: `${answer.text}\n${elsewhere}` } : answer;
}

/** Asks the store, as a call does: otherwise its contents are unknown. */
async function askStore(): Promise<void> {
  try {
    await accessToken();
  } catch (error) {
    // The status shows whether there is a session.
    if (error instanceof ConfigError) throw error;
  }
}

/** How to use the session in the home folder, if it has one that is not in use. */
function sessionOfHome(envFile: string | undefined): string | undefined {
  const home = environment("HOME") ?? environment("USERPROFILE");
  const path = `${home}/.env`;
  const isNamed = envFile === path || Boolean(environment(ENV_FILE_VARIABLE));
  if (!home || isNamed) return undefined;
  const { values } = readEnvFile(path);
  if (!values.get("ACCESS_TOKEN") && !values.get("REFRESH_TOKEN")) return undefined;
  return `! home folder: ${displayPath(path)} has a session
  → to use it in every folder, set ${ENV_FILE_VARIABLE}=${path}`;
}
