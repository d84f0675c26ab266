import { ConfigError } from "../errors/errors.ts";
import {
  type ProviderWords,
  type SessionOptions,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  VARIABLES,
} from "../settings/options.ts";
import type { ProviderSettings } from "./protocol.ts";
import type { SettingOrigin, Settings } from "../settings/settings.ts";
import { scriptCommand } from "../settings/permissions.ts";
import { mayUseVariable } from "../platform/environment.ts";

/** The dialects of the two known deployments of the protocol (section 4.1). */
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
  return isAwsHost(host) ? DIALECTS.aws : DIALECTS.vendor;
}

/**
 * Whether a host, or the last part of one, speaks the `aws` dialect. Regions in China have a domain of
 * their own.
 */
export function isAwsHost(host: string): boolean {
  return /(^|\.)amazonaws\.com(\.cn)?$/i.test(host);
}

/** The token endpoint as it is set, unchecked: to be shown and compared. */
export function endpointText(options: SessionOptions, settings: Settings): string | undefined {
  const whole = settings.text("authUrl");
  if (whole !== undefined) return whole;
  const dialect = dialectOf(options, settings);
  const host = settings.text("providerHost") ?? dialect?.host;
  const region = settings.text("region");
  const inChina = dialect === DIALECTS.aws && region?.startsWith("cn-");
  const domain = settings.text("providerDomain") ??
    (inChina ? "amazonaws.com.cn" : dialect?.domain);
  return host && region && domain ? `https://${host}.${region}.${domain}` : undefined;
}

/** What is wrong with one setting. */
export interface SettingProblem {
  readonly name: SettingName;
  /** Where its value came from; `undefined`: it is not set. */
  readonly origin: SettingOrigin | undefined;
  /** Such as "must be visible ASCII without spaces". */
  readonly problem: string;
}

/** Why no request to the provider can be made with these settings. */
export interface SettingsFault {
  readonly code: "MISSING_SETTINGS" | "INVALID_SETTING" | "PERMISSION" | "PACKAGE_UNAVAILABLE";
  /** The settings that are missing or wrong, in the order in which they are told. */
  readonly settings: readonly SettingProblem[];
  /** All of it as one text, without what was tried. */
  readonly problem: string;
  /** What to do. */
  readonly fix: string;
}

/**
 * Checks the settings that a request to the provider needs.
 *
 * @param doing What was tried, for the message, such as "log in".
 * @param alsoMissing Further settings that are needed and not set.
 * @throws {ConfigError} `MISSING_SETTINGS` with everything that is missing, `INVALID_SETTING` with
 *   everything that is wrong, `PERMISSION`, `PACKAGE_UNAVAILABLE`.
 */
export async function checkProviderSettings(
  doing: string,
  options: SessionOptions,
  settings: Settings,
  alsoMissing: readonly SettingName[] = [],
): Promise<ProviderSettings> {
  const checked = await check(options, settings, alsoMissing);
  if ("fault" in checked) throw errorOf(doing, checked.fault);
  return checked;
}

/** What keeps these settings from being used for a request to the provider; `undefined`: nothing. */
export async function settingsFault(
  options: SessionOptions,
  settings: Settings,
): Promise<SettingsFault | undefined> {
  const checked = await check(options, settings, []);
  return "fault" in checked ? checked.fault : undefined;
}

async function check(
  options: SessionOptions,
  settings: Settings,
  alsoMissing: readonly SettingName[],
): Promise<ProviderSettings | { readonly fault: SettingsFault }> {
  const endpoint = endpointText(options, settings);
  const command = () => scriptCommand(settings, endpoint);
  const missing: SettingName[] = endpoint === undefined ? ["authUrl"] : [];
  for (const name of SETTING_NAMES) {
    if (SETTINGS[name].required && settings.text(name) === undefined) missing.push(name);
  }
  missing.push(...alsoMissing);
  if (missing.length > 0) return { fault: await missingSettings(missing, settings, command) };

  const checks = await importChecks();
  if (checks === undefined) return { fault: PACKAGE_UNAVAILABLE };
  const checked = checks.checkValues((name) => {
    if (name === "authUrl") return endpoint;
    if (name === "provider") return dialectOf(options, settings);
    return settings.text(name);
  });
  if (checked instanceof Map) return { fault: invalidSettings(checked, settings) };
  const { authUrl, provider, portalUrl: _, ...rest } = checked;
  const clientSecret = settings.text("clientSecret") ? settings.secret("clientSecret") : undefined;
  return { ...rest, url: authUrl, dialect: provider, clientSecret, command };
}

/**
 * Loads the checks, always before anything is sent: if their package cannot be fetched, a request
 * must not be lost or repeated for it.
 *
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the package is not in Deno's cache and cannot be fetched.
 */
export async function loadChecks(doing: string): Promise<Checks> {
  const checks = await importChecks();
  if (checks === undefined) throw errorOf(doing, PACKAGE_UNAVAILABLE);
  return checks;
}

type Checks = typeof import("./checks.ts");

async function importChecks(): Promise<Checks | undefined> {
  try {
    return await import("./checks.ts");
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The runtime's error is not repeated: the registry's address may hold a password. */
const PACKAGE_UNAVAILABLE: SettingsFault = {
  code: "PACKAGE_UNAVAILABLE",
  settings: [],
  problem: "a package that this module needs is not in Deno's cache and cannot be fetched, so " +
    "nothing was sent",
  fix: "connect this computer to the network and run `deno cache npm:zod@^4`, then try again",
};

function errorOf(doing: string, { code, problem, fix }: SettingsFault): ConfigError {
  return new ConfigError(code, `Cannot ${doing}: ${problem}`, fix);
}

async function missingSettings(
  missing: readonly SettingName[],
  settings: Settings,
  command: () => string,
): Promise<SettingsFault> {
  const { problem: unreadable } = settings.file;
  const problems = missing.map((name) => ({ name, origin: undefined, problem: "is missing" }));
  if (unreadable?.code === "PERMISSION") {
    return {
      code: "PERMISSION",
      settings: problems,
      problem: `the permission to read ${settings.envFile} is missing`,
      fix: `run: ${command()}`,
    };
  }
  // The half that the environment has would be used together with the other one.
  const names = missing.filter((name) => name !== settings.unusedHalf).map((name) =>
    name === "authUrl"
      ? "AUTH_URL (or AUTH_REGION, AUTH_PROVIDER_HOST and AUTH_PROVIDER_DOMAIN)"
      : VARIABLES[name]
  );
  const told = [`missing ${names.join(", ")}`];
  const steps: string[] = [];
  if (!["AUTH_URL", "USERNAME"].every(mayUseVariable)) {
    steps.push("the environment could not be read, for that run with --allow-env");
  }
  if (unreadable) {
    told.push(unreadable.problem);
    if (unreadable.fix !== "") steps.push(unreadable.fix);
  }
  const { suggestionsFor } = await import("../settings/suggestions.ts");
  for (const { problem, fix } of suggestionsFor(settings, missing)) {
    told.push(problem);
    steps.push(fix);
  }
  // User name and password are the user's own.
  const bySupport = missing.some((name) => name !== "username" && name !== "password");
  const [them, options] = missing.length > 1 ? ["them", "options"] : ["it", "an option"];
  const byInit = bySupport ? " (platform-auth init does)" : "";
  const place = settings.envFile === undefined ? "" : `in ${settings.envFile}${byInit}, `;
  const ticket = bySupport
    ? ". The app client id, its secret and the user pool id belong to your subscription: open a " +
      "ticket with its support channel to obtain them"
    : "";
  steps.push(`set ${them} ${place}in the environment or as ${options}${ticket}`);
  return {
    code: "MISSING_SETTINGS",
    settings: problems,
    problem: told.join("; "),
    fix: steps.join("; "),
  };
}

function invalidSettings(
  problems: ReadonlyMap<SettingName, string>,
  settings: Settings,
): SettingsFault {
  const wrong = [...problems].map(([name, problem]) => ({
    name,
    origin: settings.origin(name),
    problem,
  }));
  const told = wrong.map(({ name, origin, problem }) => {
    const from = origin === undefined ? "" : ` (from the ${origin === "file" ? ".env" : origin})`;
    return `${VARIABLES[name]}${from} ${problem}`;
  });
  return {
    code: "INVALID_SETTING",
    settings: wrong,
    problem: told.join("; "),
    fix: "correct it and try again",
  };
}
