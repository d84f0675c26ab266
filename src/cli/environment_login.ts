import { configure, login, status } from "../default_session.ts";
import { lookAt } from "../files/look.ts";
import { environment } from "../runtime/environment.ts";
import type { SessionStatus } from "../session/status.ts";
import { ENV_FILE_VARIABLE, VARIABLES } from "../settings/options.ts";
import { needsLogin } from "./output.ts";

/**
 * Logs in where the environment has all that a login needs, and no file has a session: in CI, cron and
 * containers. The tokens are kept in the file that is named, and else in memory: a command that was not
 * asked for a file makes none.
 *
 * @param envFile The file that the command line names.
 */
export async function logInFromEnvironment(envFile: string | undefined): Promise<void> {
  const found = status();
  if (!needsLogin(found) || !isInEnvironment(found) || hasFile(found)) return;
  const isNamed = Boolean(envFile ?? environment(ENV_FILE_VARIABLE));
  if (!isNamed) configure({ envFile: false });
  await login({ strategy: "environment" });
}

/** Whether the environment alone has what a login needs. */
export function isInEnvironment({ settings, store }: SessionStatus): boolean {
  const needed = [VARIABLES.clientId, VARIABLES.username, VARIABLES.password];
  const isElsewhere = store !== undefined || settings[VARIABLES.tokenCommand] !== undefined;
  return !isElsewhere && needed.every((name) => settings[name] === "environment");
}

function hasFile({ envFile }: SessionStatus): boolean {
  return envFile !== undefined && lookAt(envFile) !== undefined;
}
