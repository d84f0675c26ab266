import { ConfigError } from "../errors/errors.ts";
import { type Advice, fixText } from "../errors/advice.ts";
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
import { scriptCommand } from "../settings/permissions.ts";
import { mayUseVariable } from "../platform/environment.ts";
import { dialectProblem, SETTING_CHECKS } from "./setting_checks.ts";
import type { Secret } from "../platform/secret.ts";

type RefreshSecretHash = "auto" | "send" | "omit";

/** The checked settings for requests to the identity provider. */
export interface Provider {
  /** The token endpoint (section 4.1). */
  readonly url: URL;
  readonly dialect: ProviderDialect;
  readonly clientId: string;
  /** Absent for a public client, whose requests contain no SECRET_HASH. */
  readonly clientSecret: Secret | undefined;
  readonly userPoolId: string;
  readonly refreshSecretHash: RefreshSecretHash;
  readonly timeoutMs: number;
  /**
   * Returns the command that grants a script its permissions, for the message about a missing
   * permission.
   */
  command(): string;
}

/** The reason why no request to the provider can be made with these settings. */
export interface SettingsFault extends Advice {
  readonly code: "MISSING_SETTINGS" | "UNTRUSTED_ORIGIN" | "INVALID_SETTING";
  readonly fix: string;
  /** The settings that are missing or wrong. */
  readonly settings: readonly SettingName[];
}

/**
 * Checks the settings for requests to the provider.
 *
 * @param flow The purpose of the requests.
 * @param needsCredentials Whether user name and password must also be set.
 * @throws {ConfigError} `MISSING_SETTINGS`, which lists all missing settings; `UNTRUSTED_ORIGIN`,
 * if a request other than a login would send a secret from the environment to an endpoint in a
 * `.env` that was found; or `INVALID_SETTING`, which lists all invalid settings.
 */
export function resolveProvider(
  flow: ProviderRequest["flow"],
  settings: Settings,
  needsCredentials = false,
): Provider {
  const resolved = resolve(settings, needsCredentials);
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
export function settingsFault(settings: Settings): SettingsFault | undefined {
  const resolved = resolve(settings, false);
  return "code" in resolved ? resolved : undefined;
}

function resolve(settings: Settings, needsCredentials: boolean): Provider | SettingsFault {
  const { endpoint } = settings;
  const missing: SettingName[] = endpoint === undefined ? ["authUrl"] : [];
  for (const name of SETTING_NAMES) {
    if (SETTING_RULES[name].required && settings.text(name) === undefined) missing.push(name);
  }
  if (needsCredentials) missing.push(...missingCredentials(settings));
  if (missing.length > 0) return missingSettings(missing, settings);

  const dialect = dialectOf(settings);
  const problems = new Map<SettingName, string>();
  for (const name of SETTING_NAMES) {
    const text = name === "authUrl" ? endpoint : settings.text(name);
    const problem = name === "provider"
      ? dialectProblem(dialect)
      : text !== undefined && SETTING_CHECKS[name]?.(text);
    if (problem) problems.set(name, problem);
  }
  if (problems.size > 0 || dialect === undefined) return invalidSettings(problems, settings);
  return {
    url: new URL(endpoint ?? ""),
    dialect,
    clientId: settings.text("clientId") ?? "",
    clientSecret: settings.text("clientSecret") ? settings.secret("clientSecret") : undefined,
    userPoolId: settings.text("userPoolId") ?? "",
    refreshSecretHash: (settings.text("refreshSecretHash") ?? "auto") as RefreshSecretHash,
    timeoutMs: settings.timeoutMs,
    command: () => scriptCommand(settings),
  };
}

function errorOf(action: string, { code, problem, fix }: SettingsFault): ConfigError {
  return new ConfigError(code, `Cannot ${action}: ${problem}`, fix);
}

/**
 * Returns the missing credentials: the user name, the password, both or neither. If the environment
 * contains only one of the two, only the other one is reported as missing.
 */
function missingCredentials(settings: Settings): SettingName[] {
  const missing = (["username", "password"] as const).filter((name) => !settings.text(name));
  return missing.length < 2 ? missing : missing.filter((name) => name !== settings.unusedHalf);
}

/** Says which settings are missing, why a file that may have them is not used, and what to do. */
function missingSettings(missing: readonly SettingName[], settings: Settings): SettingsFault {
  const { envFile, file, foreignFiles, trust: { withheld } } = settings;
  const isWithheld = missing.includes("authUrl") &&
    ENDPOINT_NAMES.some((name) => withheld?.names.includes(name));
  const unusable = [...(withheld && isWithheld ? [withheld] : []), file.problem, ...foreignFiles]
    .filter((each) => each !== undefined);
  const searched = unusable.length === 0 ? whyNoSettings(settings)?.problem : undefined;
  const hasEnvironment = ["AUTH_URL", "USERNAME"].every(mayUseVariable);

  const unset = missing.filter((name) => !(isWithheld && name === "authUrl"));
  const isBySupport = unset.some((name) => name !== "username" && name !== "password");
  const inFile = isBySupport ? `in ${envFile} (platform-auth init does this)` : `in ${envFile}`;
  const places = `${envFile === undefined ? "" : `${inFile}, `}in the environment or as an option`;

  const problems = [
    `missing ${missing.map((name) => namesOf(name, settings)).join(", ")}`,
    ...unusable.map(({ problem }) => problem),
    searched,
    hasEnvironment ? undefined : "the environment could not be read without --allow-env",
  ];
  const steps = [
    ...unusable.map(({ fix = "" }) => fixText(fix)),
    unset.length === 0 ? undefined : `set the missing values ${places}`,
    isBySupport ? BY_SUPPORT : undefined,
  ];
  return {
    code: isWithheld ? "UNTRUSTED_ORIGIN" : "MISSING_SETTINGS",
    settings: missing,
    problem: problems.filter((each) => each !== undefined).join("; "),
    fix: steps.filter((each) => each !== undefined).join("; "),
  };
}

const BY_SUPPORT = "the app client id, its secret and the user pool id belong to your " +
  "subscription: open a ticket with its support channel to obtain them";

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
    settings: [...problems.keys()],
    problem: sentences.join("; "),
    fix: "correct it and try again",
  };
}
