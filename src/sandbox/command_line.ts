import type { StartSandboxOptions } from "./options.ts";
import type { Sandbox } from "./sandbox.ts";

/** The port of the identity provider, unless the user specifies one. */
export const FIRST_PORT = 8410;

/**
 * Converts command-line options for the behavior of the sandbox to options of `startSandbox()`,
 * which checks them.
 */
export function optionsOf(
  flags: { readonly [name: string]: unknown; readonly challenge?: string | undefined },
): StartSandboxOptions {
  const number = (value: unknown) => value === undefined ? undefined : Number(value);
  const devices = flags["track-devices"];
  const options: Record<string, unknown> = {
    port: number(flags.port) ?? FIRST_PORT,
    accessTokenSeconds: number(flags["access-token-seconds"]),
    refreshDays: number(flags["refresh-days"]),
    words: flags.words,
    rotateRefreshTokens: flags.rotate,
    graceSeconds: number(flags["grace-seconds"]),
    aliasSignIn: flags.alias,
    clientSecret: flags["public-client"] ? false : undefined,
    lockoutAfter: number(flags["lockout-after"]),
    throttlePerSecond: number(flags["throttle-per-second"]),
    challenge: flags.challenge?.split(","),
    trackDevices: devices === "on" ? true : devices,
    revocation: flags["no-revocation"] ? false : undefined,
    latencyMs: number(flags["latency-ms"]),
  };
  return options;
}

/** Returns the settings with the names that they have in a `.env`. */
export function variablesOf({ settings, portalUrl }: Sandbox): Record<string, string> {
  return {
    AUTH_URL: settings.authUrl,
    AUTH_PROVIDER: settings.provider,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    USERNAME: settings.username,
    PASSWORD: settings.password,
    API_BASE_URL: settings.apiBaseUrl,
    PORTAL_URL: portalUrl,
  };
}

/** Adds the account of `--user NAME[:PASSWORD]`, and returns its name. */
export function addAccount({ addUser, settings }: Sandbox, text: string): string {
  const [username = "", ...rest] = text.split(":");
  const password = rest.length === 0 ? settings.password : rest.join(":");
  addUser({ username, password, ...(username.includes("@") && { email: username }) });
  return username;
}

/**
 * The text printed at the start: the addresses, and the lines for a `.env`.
 *
 * @param envFile The file that already contains the lines.
 * @param others Names of further accounts.
 */
export function describeSandbox(
  sandbox: Sandbox,
  envFile?: string,
  others: readonly string[] = [],
): string {
  const { portalUrl, authUrl, apiUrl } = sandbox;
  const lines = Object.entries(variablesOf(sandbox)).map(([name, value]) => `${name}=${value}`);
  const settings = envFile === undefined
    ? `Put these lines into a .env. The secrets are shown because they work only with this sandbox; never
print those of a real account. USERNAME and PASSWORD also work in the portal.

${lines.join("\n")}`
    : `The settings are in ${envFile}
USERNAME and PASSWORD also work in the portal.`;
  const further = others.length === 0 ? "" : `Further accounts: ${others.join(", ")}\n\n`;
  return `The sandbox is running.

  identity provider  ${authUrl}
  portal             ${portalUrl}
  data platform API  ${apiUrl}

${settings}

${further}Ctrl+C stops the sandbox. Its tokens then stop working.
`;
}
