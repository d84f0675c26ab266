import { ConfigError } from "../errors/errors.ts";
import { type Advice, commandOr, fixText, inKernel } from "../errors/advice.ts";
import {
  ENDPOINT_NAMES,
  type ProviderDialect,
  SETTING_NAMES,
  SETTING_RULES,
  type SettingName,
  VARIABLES,
} from "../settings/options.ts";
import { dialectOf } from "../settings/endpoint.ts";
import { whyNoSettings } from "../settings/no_settings.ts";
import { DOING, type ProviderRequest } from "./protocol.ts";
import type { Settings } from "../settings/settings.ts";
import { mayUseVariable } from "../platform/environment.ts";
import { isUnloadable } from "../platform/packages.ts";
import type { Secret } from "../platform/secret.ts";

/** The checked settings for requests to the identity provider. */
export interface Provider {
  /** The token endpoint (section 4.1). */
  readonly url: URL;
  readonly dialect: ProviderDialect;
  readonly clientId: string;
  /** Absent for a public client, whose requests contain no SECRET_HASH. */
  readonly clientSecret: Secret | undefined;
  readonly userPoolId: string;
  readonly refreshSecretHash: "auto" | "send" | "omit";
  readonly timeoutMs: number;
}

/** The reason why no request to the provider can be made with these settings. */
export interface SettingsFault extends Advice {
  readonly code:
    | "MISSING_SETTINGS"
    | "UNTRUSTED_ORIGIN"
    | "INVALID_SETTING"
    | "PACKAGE_UNAVAILABLE";
  readonly fix: string;
}

/**
 * Checks the settings for requests to the provider.
 *
 * @param flow The purpose of the requests.
 * @param needsCredentials Whether user name and password must also be set.
 * @throws {ConfigError} `MISSING_SETTINGS`, which lists all missing settings; `UNTRUSTED_ORIGIN`,
 * if a request other than a login would send a secret from the environment to an endpoint in a
 * `.env` that was found by search; `INVALID_SETTING`, which lists all invalid settings; or
 * `PACKAGE_UNAVAILABLE`.
 */
export async function resolveProvider(
  flow: ProviderRequest["flow"],
  settings: Settings,
  needsCredentials = false,
): Promise<Provider> {
  const resolved = await resolve(settings, needsCredentials);
  if (!("code" in resolved)) return resolved;
  // A login has no token yet, so its error says that the address is missing, not that it is
  // refused.
  const isMissing = flow === "login" && resolved.code === "UNTRUSTED_ORIGIN";
  throw errorOf(DOING[flow], isMissing ? { ...resolved, code: "MISSING_SETTINGS" } : resolved);
}

/**
 * Says why these settings cannot be used for a request to the provider; returns `undefined` if the
 * settings can be used.
 */
export async function settingsFault(settings: Settings): Promise<SettingsFault | undefined> {
  const resolved = await resolve(settings, false);
  return "code" in resolved ? resolved : undefined;
}

async function resolve(
  settings: Settings,
  needsCredentials: boolean,
): Promise<Provider | SettingsFault> {
  const { endpoint, ownDialect } = settings;
  const missing: SettingName[] = endpoint === undefined ? ["authUrl"] : [];
  for (const name of SETTING_NAMES) {
    if (SETTING_RULES[name].required && settings.text(name) === undefined) missing.push(name);
  }
  if (needsCredentials) missing.push(...missingCredentials(settings));
  if (missing.length > 0) return missingSettings(missing, settings);

  const checks = await importChecks();
  if (checks === undefined) return PACKAGE_UNAVAILABLE;
  const dialect = dialectOf(settings);
  const { values, problems } = checks.checkSettings((name) => {
    if (name === "authUrl") return endpoint;
    if (name !== "provider") return settings.text(name);
    // Built-in dialects need no check.
    return ownDialect ?? (dialect === undefined ? settings.text(name) : undefined);
  });
  if (problems.size > 0 || dialect === undefined) return invalidSettings(problems, settings);
  const { authUrl, clientId, userPoolId, refreshSecretHash } = values;
  return {
    url: new URL(authUrl),
    dialect,
    clientId,
    clientSecret: settings.text("clientSecret") ? settings.secret("clientSecret") : undefined,
    userPoolId,
    refreshSecretHash: refreshSecretHash ?? "auto",
    timeoutMs: settings.timeoutMs,
  };
}

/** Loads the checks; returns `undefined` if their package is not cached and cannot be fetched. */
async function importChecks(): Promise<typeof import("./checks.ts") | undefined> {
  try {
    return await import("./checks.ts");
  } catch (error) {
    if (!isUnloadable(error)) throw error;
    return undefined;
  }
}

/** The registry's address may contain a password, so the runtime's error is not quoted. */
const PACKAGE_UNAVAILABLE: SettingsFault = {
  code: "PACKAGE_UNAVAILABLE",
  problem: "a package that this module needs is not in Deno's cache and cannot be fetched, so " +
    "nothing was sent",
  fix: "connect this computer to the network and run `deno cache npm:zod@4.6.7`, then try again",
};

function errorOf(action: string, { code, problem, fix }: SettingsFault): ConfigError {
  return new ConfigError(code, `Cannot ${action}: ${problem}`, fix);
}

/**
 * Returns the missing credentials: the user name, the password, both or neither. If the environment
 * contains only one of the two, only the other one is reported as missing.
 */
function missingCredentials(settings: Settings): SettingName[] {
  const missing = (["username", "password"] as const).filter((name) => !settings.text(name));
  return missing.length < 2
    ? missing
    : missing.filter((name) => name !== settings.unusedHalf?.name);
}

/** Says which settings are missing, why a file that may have them is not used, and what to do. */
function missingSettings(missing: readonly SettingName[], settings: Settings): SettingsFault {
  const { envFile, file, foreignFiles, trust: { withheld } } = settings;
  const isWithheld = missing.includes("authUrl") &&
    ENDPOINT_NAMES.some((name) => withheld?.names.includes(name));
  const unset = isWithheld ? missing.filter((name) => name !== "authUrl") : missing;
  const unusable = [isWithheld ? withheld : undefined, file.problem, ...foreignFiles]
    .filter((each) => each !== undefined);
  const asksForCredentials = missing.includes("username") || missing.includes("password");
  const half = asksForCredentials ? settings.unusedHalf : undefined;

  const problems = [`missing ${missing.map((name) => namesOf(name, settings)).join(", ")}`];
  const searched = unusable.length === 0 ? whyNoSettings(settings) : undefined;
  // In a notebook without settings, the fix of `searched` also says how to set them.
  const hasFix = searched !== undefined && inKernel();
  const steps = hasFix ? [fixText(searched.fix)] : [];
  for (const { problem, fix = "" } of half ? [half, ...unusable] : unusable) {
    problems.push(problem);
    steps.push(fixText(fix));
  }
  if (searched) problems.push(searched.problem);
  if (!["AUTH_URL", "USERNAME"].every(mayUseVariable)) {
    problems.push("the environment could not be read without --allow-env");
  }
  const inFile = envFile === undefined ? "" : `in ${envFile}, `;
  if (unset.length > 0 && !hasFix) {
    steps.push(`set the missing values ${inFile}in the environment or as an option`);
  }
  if (unset.some((name) => name !== "username" && name !== "password")) {
    const init = hasFix ? "" : commandOr(", then run platform-auth init", "");
    steps.push(`${BY_SUPPORT}${init}`);
  }
  return {
    code: isWithheld ? "UNTRUSTED_ORIGIN" : "MISSING_SETTINGS",
    problem: problems.join("; "),
    fix: steps.join("; "),
  };
}

const BY_SUPPORT =
  "ask the support channel of your subscription for the app client id, its secret " +
  "and the user pool id";

/** The variables that can set a missing setting. */
function namesOf(name: SettingName, settings: Settings): string {
  const dialect = dialectOf(settings);
  const needsOnlyRegion = name === "authUrl" && dialect?.host && dialect.domain;
  return needsOnlyRegion ? "AUTH_URL (or AUTH_REGION)" : VARIABLES[name];
}

function invalidSettings(
  problems: ReadonlyMap<SettingName, string>,
  settings: Settings,
): SettingsFault {
  const sentences = [...problems].map(([name, problem]) => `${settings.placeOf(name)} ${problem}`);
  return {
    code: "INVALID_SETTING",
    problem: sentences.join("; "),
    fix: "correct it and try again",
  };
}
