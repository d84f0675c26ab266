/** What a notebook or a script elsewhere on this machine needs to use the module. */

import type { SandboxSettings } from "../src/sandbox/mod.ts";

const MOD_URL = new URL("../mod.ts", import.meta.url).href;

/** The settings of a sandbox as a user has them in the environment; those named are left out. */
export function settingsEnvironment(
  settings: SandboxSettings,
  ...leftOut: ("USERNAME" | "PASSWORD")[]
): Record<string, string> {
  const variables = {
    AUTH_URL: settings.authUrl,
    AUTH_PROVIDER: settings.provider,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    API_BASE_URL: settings.apiBaseUrl,
    USERNAME: settings.username,
    PASSWORD: settings.password,
    NO_COLOR: "1",
  };
  // Empty, not absent: the test's own environment may hold them too.
  for (const name of leftOut) variables[name] = "";
  return variables;
}

/** A line of source for a cell that imports these names. */
export function importing(names: string): string {
  return `import { ${names} } from ${JSON.stringify(MOD_URL)};`;
}
