/** The settings of a sandbox as a user keeps them, in a `.env` or in the environment. */
import type { SandboxSettings } from "../../src/sandbox/mod.ts";
import { MOD_URL } from "./child_deno.ts";
import "./quick_signatures.ts";

/** The settings by the name of their environment variable. */
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

/** Writes these variables to a `.env`, or to a file with another name. */
export async function writeEnv(
  folder: string,
  variables: Record<string, string>,
  name = ".env",
): Promise<void> {
  const lines = Object.entries(variables).map(([key, value]) => `${key}=${value}\n`);
  await Deno.writeTextFile(`${folder}/${name}`, lines.join(""), { mode: 0o600 });
}

/** The settings of a sandbox as environment variables, without those in `leftOut`. */
export function settingsEnvironment(
  settings: SandboxSettings,
  ...leftOut: ("USERNAME" | "PASSWORD")[]
): Record<string, string> {
  const variables: Record<string, string> = { ...variablesOf(settings), NO_COLOR: "1" };
  // Empty rather than absent, because the tests' own environment may set them, too.
  for (const name of leftOut) variables[name] = "";
  return variables;
}

/** A line of code for a cell that imports these names. */
export function importing(names: string): string {
  return `import { ${names} } from ${JSON.stringify(MOD_URL)};`;
}
