import { accessToken, configure, login, status } from "../default_session.ts";
import { SessionExpiredError } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { logsInUnasked } from "../session/status.ts";
import { ENV_FILE_VARIABLE, VARIABLES } from "../settings/options.ts";
import { needsLogin } from "./output.ts";

/**
 * Logs in where there is no session, or one that has ended, and the settings have all that a login needs:
 * in CI, cron and containers. The tokens are kept beside the password that is in a file, or in the file
 * that is named, and else in memory: a command that was not asked for a file makes none.
 *
 * @param envFile The file that the command line names.
 */
export async function logInUnasked(envFile: string | undefined): Promise<void> {
  const found = status();
  if (!logsInUnasked(found)) return;
  if (!needsLogin(found) && !await isOver()) return;
  const isNamed = Boolean(envFile ?? environment(ENV_FILE_VARIABLE));
  const inFile = found.settings[VARIABLES.password] === "file";
  if (!isNamed && !inFile) configure({ envFile: false });
  await login({ strategy: "environment" });
}

/** Whether the provider refuses to refresh a session, if that is due. */
async function isOver(): Promise<boolean> {
  try {
    await accessToken();
    return false;
  } catch (error) {
    if (error instanceof SessionExpiredError) return true;
    throw error;
  }
}
