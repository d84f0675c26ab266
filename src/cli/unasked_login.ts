import { accessToken, configure, login, status } from "../default_session.ts";
import { SessionExpiredError } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { logsInUnasked } from "../session/status.ts";
import { ENV_FILE_VARIABLE, VARIABLES } from "../settings/options.ts";

/**
 * Logs in if there is no session, or an expired one, and the settings have everything that a login needs:
 * in CI, cron and containers. The tokens are saved next to a password that is in a file, or in the file
 * that is named, otherwise in memory: a command creates no file that was not asked for.
 *
 * @param envFile The file that the command line names.
 */
export async function logInUnasked(envFile: string | undefined): Promise<void> {
  const found = status();
  if (!logsInUnasked(found) || !await isOver()) return;
  const isNamed = Boolean(envFile ?? environment(ENV_FILE_VARIABLE));
  const inFile = found.settings[VARIABLES.password] === "file";
  if (!isNamed && !inFile) configure({ envFile: false });
  await login({ strategy: "environment" });
}

/** Whether only a login helps, because the provider refuses a refresh that is due. */
async function isOver(): Promise<boolean> {
  try {
    await accessToken();
    return false;
  } catch (error) {
    if (error instanceof SessionExpiredError) return true;
    throw error;
  }
}
