import { ConfigError, sentenceOf } from "../errors/errors.ts";
import type { ProviderWords, SessionOptions } from "../settings/options.ts";
import type { ProviderSettings } from "./exchange.ts";
import {
  DEFAULT_TIMEOUT_MS,
  type SettingName,
  type Settings,
  timeoutIn,
  VARIABLES,
} from "../settings/settings.ts";
import { scriptCommand } from "../settings/permissions.ts";
import { mayUseVariable } from "../runtime/environment.ts";

/** The names that the two known deployments of the protocol use (section 4.1). */
const DIALECTS: Readonly<Record<"vendor" | "aws", ProviderWords>> = {
  vendor: {
    targetHeader: "X-Vendor-Target",
    service: "VendorIdentityProviderService",
    contentType: "application/x-vendor-json-1.1",
  },
  aws: {
    targetHeader: "X-Amz-Target",
    service: "AWSCognitoIdentityProviderService",
    contentType: "application/x-amz-json-1.1",
    host: "cognito-idp",
    domain: "amazonaws.com",
  },
};

/** The deadline of one login or refresh in milliseconds; the default where what is set cannot be used. */
export function timeoutOf(settings: Settings): number {
  return timeoutIn(settings.text("timeoutMs")) ?? DEFAULT_TIMEOUT_MS;
}

/** The token endpoint as it is set, unchecked: to be shown and compared. */
export function endpointText(options: SessionOptions, settings: Settings): string | undefined {
  const whole = settings.text("authUrl");
  if (whole !== undefined) return whole;
  const dialect = dialectOf(options, settings);
  const host = settings.text("providerHost") ?? dialect?.host;
  const region = settings.text("region");
  const domain = settings.text("providerDomain") ?? dialect?.domain;
  return host && region && domain ? `https://${host}.${region}.${domain}` : undefined;
}

/**
 * Checks the settings that a request to the provider needs.
 *
 * @param doing What the caller tries, for the message, such as "log in".
 * @param alsoMissing Further variables that the caller found missing.
 * @throws {ConfigError} `MISSING_SETTINGS` with everything that is missing, `INVALID_SETTING` with everything that is wrong, `PACKAGE_UNAVAILABLE`.
 */
export async function checkProviderSettings(
  doing: string,
  options: SessionOptions,
  settings: Settings,
  alsoMissing: readonly string[] = [],
): Promise<ProviderSettings> {
  const endpoint = endpointText(options, settings);
  const missing: string[] = [];
  if (endpoint === undefined) {
    missing.push("AUTH_URL (or AUTH_REGION, AUTH_PROVIDER_HOST and AUTH_PROVIDER_DOMAIN)");
  }
  for (const name of ["clientId", "clientSecret", "userPoolId"] as const) {
    if (settings.text(name) === undefined) missing.push(VARIABLES[name]);
  }
  missing.push(...alsoMissing);
  if (missing.length > 0) throw missingSettings(doing, missing, settings, endpoint);

  const { checkValues } = await loadChecks(doing);
  const checked = checkValues({
    authUrl: endpoint,
    provider: dialectOf(options, settings),
    clientId: settings.text("clientId"),
    userPoolId: settings.text("userPoolId"),
    refreshSecretHash: settings.text("refreshSecretHash") ?? "auto",
    timeoutMs: settings.text("timeoutMs"),
  });
  if (checked instanceof Map) throw invalidSettings(doing, checked, settings);
  const { authUrl, provider, ...rest } = checked;
  const clientSecret = settings.text("clientSecret") ? settings.secret("clientSecret") : undefined;
  const command = () => scriptCommand(settings, endpoint);
  return { ...rest, url: authUrl, dialect: provider, clientSecret, command };
}

/**
 * Loads the checks, always before anything is sent: if their package cannot be fetched, a request
 * must not be lost or repeated for it.
 *
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the package is not in Deno's cache and cannot be fetched.
 */
export async function loadChecks(doing: string): Promise<typeof import("./checks.ts")> {
  try {
    return await import("./checks.ts");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The runtime's error is not repeated: the registry's address may hold a password.
    throw new ConfigError(
      "PACKAGE_UNAVAILABLE",
      `Cannot ${doing}: a package that this module needs is not in Deno's cache and cannot be ` +
        "fetched, so nothing was sent; connect this computer to the network and run " +
        "`deno cache npm:zod@^4`, then try again",
    );
  }
}

/** The dialect that is set, else the one that fits the host; `undefined` for an unknown name. */
export function dialectOf(
  options: SessionOptions,
  settings: Settings,
): ProviderWords | undefined {
  if (typeof options.provider === "object") return options.provider;
  const name = settings.text("provider");
  if (name === "vendor" || name === "aws") return DIALECTS[name];
  if (name !== undefined) return undefined;
  const host = URL.parse(settings.text("authUrl") ?? "")?.hostname ??
    settings.text("providerDomain") ?? "";
  return /(^|\.)amazonaws\.com$/i.test(host) ? DIALECTS.aws : DIALECTS.vendor;
}

function missingSettings(
  doing: string,
  missing: readonly string[],
  settings: Settings,
  endpoint: string | undefined,
): Error {
  const unread = ["AUTH_URL", "USERNAME"].every(mayUseVariable)
    ? ""
    : "; the environment could not be read, for that run with --allow-env";
  const { problem } = settings.file;
  if (problem?.code === "PERMISSION") {
    return new ConfigError(
      "PERMISSION",
      `Cannot ${doing}: the permission to read ${settings.envFile} is missing; run: ` +
        scriptCommand(settings, endpoint),
    );
  }
  const unreadable = problem ? `; ${sentenceOf(problem)}` : "";
  const ticket = missing.some((name) => /^(AUTH|APP|USER_POOL)_/.test(name))
    ? ". The app client id, its secret and the user pool id belong to your subscription: open a " +
      "ticket with its support channel to obtain them"
    : "";
  const [them, options] = missing.length > 1 ? ["them", "options"] : ["it", "an option"];
  // Which leaves out user name and password: they are the user's own.
  const byInit = ticket && " (platform-auth init does)";
  const place = settings.envFile === undefined ? "" : `in ${settings.envFile}${byInit}, `;
  return new ConfigError(
    "MISSING_SETTINGS",
    `Cannot ${doing}: missing ${
      missing.join(", ")
    }${unread}${unreadable}; set ${them} ${place}in ` +
      `the environment or as ${options}${ticket}`,
  );
}

function invalidSettings(
  doing: string,
  problems: ReadonlyMap<string, string>,
  settings: Settings,
): ConfigError {
  const parts = [...problems].map(([name, problem]) => {
    const origin = settings.origin(name as SettingName);
    const from = origin === undefined ? "" : ` (from the ${origin === "file" ? ".env" : origin})`;
    return `${VARIABLES[name as SettingName]}${from} ${problem}`;
  });
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot ${doing}: ${parts.join("; ")}; correct it and try again`,
  );
}
