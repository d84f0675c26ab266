import { accessToken, configure, login, status } from "../default_session.ts";
import { SessionExpiredError } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { needsLogin, type SessionStatus } from "../session/status.ts";
import { ENV_FILE_VARIABLE, VARIABLES } from "../settings/options.ts";

/**
 * Logs in without a prompt if there is no valid session and the settings suffice, as in CI, cron
 * and containers. The tokens are saved in the file that the user specified or in the file that contains
 * the settings. Without either file, the tokens stay in memory, so that a command does not create
 * an unexpected file.
 *
 * @param envFile The file specified on the command line.
 */
export async function logInUnasked(envFile: string | undefined): Promise<void> {
  const found = status();
  if (!suffice(found.settings) || !needsLogin(found) && !await isRefused()) return;
  const isNamed = Boolean(envFile ?? environment(ENV_FILE_VARIABLE));
  const isSaved = isNamed || Object.values(found.settings).includes("file");
  if (!isSaved) configure({ envFile: false });
  await login({ strategy: "environment" });
}

/** Whether these settings suffice. With a store they do not, because others share its session. */
function suffice(settings: SessionStatus["settings"]): boolean {
  const needed = [VARIABLES.clientId, VARIABLES.username, VARIABLES.password];
  return settings[VARIABLES.store] === undefined &&
    needed.every((name) => settings[name] !== undefined);
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
