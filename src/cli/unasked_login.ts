import { accessToken, configure, login, status } from "../default_session.ts";
import { SessionExpiredError } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { isOver, logsInUnasked, savesUnasked } from "../session/status.ts";
import { ENV_FILE_VARIABLE } from "../settings/options.ts";

/**
 * Logs in without a prompt if there is no valid session and the settings suffice, as in CI, cron
 * and containers. The tokens are saved in the file that the user named or in the file that contains
 * the settings. Without either file, the tokens stay in memory, so that a command does not create
 * an unexpected file.
 *
 * @param envFile The file named on the command line.
 */
export async function logInUnasked(envFile: string | undefined): Promise<void> {
  const found = status();
  if (!logsInUnasked(found) || !isOver(found) && !await isRefused()) return;
  const isNamed = Boolean(envFile ?? environment(ENV_FILE_VARIABLE));
  if (!savesUnasked(found, isNamed)) configure({ envFile: false });
  await login({ strategy: "environment" });
}

/** Refreshes the session if that is due. Returns whether the provider refused the refresh token. */
async function isRefused(): Promise<boolean> {
  try {
    await accessToken();
    return false;
  } catch (error) {
    if (error instanceof SessionExpiredError) return true;
    throw error;
  }
}
