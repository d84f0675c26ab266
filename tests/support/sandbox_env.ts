/** Writes the settings of a sandbox the way a user keeps them: as lines of a `.env`. */
import type { SandboxSettings } from "../../src/sandbox/mod.ts";

/** The variables of section 5.4 of the API document and the module's own, by name. */
export function variablesOf(settings: SandboxSettings): Record<string, string> {
  return {
    AUTH_URL: settings.authUrl,
    AUTH_PROVIDER: settings.provider,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    USERNAME: settings.username,
    PASSWORD: settings.password,
    API_BASE_URL: settings.apiBaseUrl,
  };
}

/** Writes a `.env` with these variables. */
export async function writeEnv(folder: string, variables: Record<string, string>): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await Deno.writeTextFile(`${folder}/.env`, lines.join(""), { mode: 0o600 });
}
