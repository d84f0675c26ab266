/**
 * The values of the settings, from options, environment and `.env`. `options.ts` has the rules of
 * each setting, `env_location.ts` finds the file, `trust.ts` decides which hosts may receive
 * secrets, and `env_file.ts` reads and edits the file.
 */
import {
  checkEnvFileName,
  type EnvLocation,
  locatedAgain,
  namedEnvFile,
  nearestEnvFile,
  orOwnFile,
  whyIgnored,
} from "./env_location.ts";
import { type EnvSnapshot, isBeingWritten, readEnvFile } from "./env_file.ts";
import { endpointText } from "./endpoint.ts";
import type { Advice } from "../errors/advice.ts";
import { ConfigError } from "../errors/errors.ts";
import {
  DEFAULT_TIMEOUT_MS,
  ENDPOINT_NAMES,
  ENV_FILE_VARIABLE,
  parseTimeout,
  portalText,
  type ProviderDialect,
  safeAddress,
  type SecretName,
  type SessionOptions,
  SETTING_NAMES,
  SETTING_RULES,
  type SettingName,
  type SettingOrigin,
  VARIABLES,
} from "./options.ts";
import { environment } from "../platform/environment.ts";
import { displayPath } from "../files/paths.ts";
import { Secret, withoutOuterBreaks } from "../platform/secret.ts";
import { refuseTokenCommand } from "./removed.ts";
import { FILE_VARIABLES, settingInEnvironment, variableOf } from "./secret_file.ts";
import { type FoundSetting, isChosen, type Trust, trustIn } from "./trust.ts";

const PAIR = ["username", "password"] as const;

const NO_FILE: EnvSnapshot = { exists: false, values: new Map() };

/**
 * The settings of a session at one point in time: the unchecked text and the source of each
 * setting.
 */
export class Settings {
  /** Reports the files that were found but are ignored. */
  readonly foreignFiles: readonly (Advice & { readonly fix: string })[];

  /**
   * @param file The content of the `.env`.
   * @param trust The parts of the `.env` and of the environment that may be used.
   * @param ownDialect The dialect that the option `provider` describes, if the option is an object.
   * @param isLent Whether the option `token` lends the tokens.
   */
  constructor(
    readonly location: EnvLocation,
    readonly file: EnvSnapshot,
    private readonly found: ReadonlyMap<SettingName, FoundSetting>,
    readonly trust: Trust,
    readonly ownDialect: ProviderDialect | undefined,
    readonly isLent: boolean,
  ) {
    this.foreignFiles = location.foreign.map(whyIgnored);
  }

  /** Absolute path of the `.env`; `undefined` for memory only. */
  get envFile(): string | undefined {
    return this.location.path;
  }

  /** Notices about files and lines that are not used. */
  get notes(): readonly Advice[] {
    const { file, foreignFiles, trust: { withheld } } = this;
    return [
      ...foreignFiles,
      ...unusedLines(file),
      ...(withheld ? [withheld] : []),
    ];
  }

  /** Returns the value of a setting as text; `undefined` if the setting is not set. */
  text(name: SettingName): string | undefined {
    return this.found.get(name)?.text.reveal();
  }

  /** Returns the value of a setting that must not be shown. */
  secret(name: SecretName): Secret | undefined {
    return this.found.get(name)?.text;
  }

  /**
   * Absolute path of the `.env` that stores the tokens; `undefined` if tokens are not stored in a
   * file.
   */
  get tokenFile(): string | undefined {
    const isElsewhere = this.isLent || this.found.has("store");
    return isElsewhere || this.trust.withheld ? undefined : this.envFile;
  }

  /** The configured token endpoint, unchecked; `undefined` if the settings do not determine it. */
  get endpoint(): string | undefined {
    return endpointText(this);
  }

  /** Whether the token endpoint comes from a `.env` that was found by search. */
  get hasFoundEndpoint(): boolean {
    return !isChosen(this.location) && ENDPOINT_NAMES.some((name) => this.origin(name) === "file");
  }

  /**
   * The time limit of one login or refresh in milliseconds. The default applies if the setting
   * cannot be used.
   */
  get timeoutMs(): number {
    return parseTimeout(this.text("timeoutMs")) ?? DEFAULT_TIMEOUT_MS;
  }

  /** The address of the portal; `undefined` if the setting is not set or must not become a link. */
  get portalUrl(): string | undefined {
    return safeAddress(this.text("portalUrl") ?? "");
  }

  /** The portal's address as a text for messages. */
  get portalText(): string | undefined {
    return portalText(this.portalUrl, this.origin("portalUrl"));
  }

  /** Returns where the value of a setting came from; `undefined` if the setting is not set. */
  origin(name: SettingName): SettingOrigin | undefined {
    return this.found.get(name)?.origin;
  }

  /** The source of each setting that is set, by the name of its variable. */
  get origins(): Readonly<Record<string, SettingOrigin>> {
    return Object.fromEntries(
      SETTING_NAMES.flatMap((name) => {
        const origin = this.origin(name);
        return origin === undefined ? [] : [[VARIABLES[name], origin]];
      }),
    );
  }

  /** Names the place where a setting is set, for messages. */
  placeOf(name: SettingName): string {
    const places: Readonly<Record<SettingOrigin, string>> = {
      option: `(the option ${name})`,
      environment: "in the environment",
      file: `in ${displayPath(this.envFile)}`,
    };
    const origin = this.origin(name);
    return `${VARIABLES[name]} ${origin === undefined ? "" : places[origin]}`.trim();
  }

  /**
   * The reason why the password of the environment is not sent: an option or the `.env` has another
   * user name without a password. Windows and some desktops set USERNAME to the name of the
   * computer's user, so the password may belong to either name.
   */
  get rivalNames(): Advice & { readonly fix: string } | undefined {
    const username = environment(VARIABLES.username)?.trim();
    if (!username || !environment(variableOf("password"))) return undefined;
    const isOption = this.origin("username") === "option";
    const read = (name: SettingName) =>
      isOption ? this.text(name) : this.file.values.get(VARIABLES[name]);
    const rival = read("username")?.trim();
    if (!rival || rival.toLowerCase() === username.toLowerCase()) return undefined;
    if (read("password")) return undefined;
    const place = isOption ? this.placeOf("username") : `USERNAME in ${displayPath(this.envFile)}`;
    return {
      problem: `${place} and USERNAME in the environment differ, and only the environment has a ` +
        "PASSWORD",
      fix: "set user name and password in one place, or pass the user name when you log in",
    };
  }

  /**
   * The user name or the password, if the environment contains only one of them. It is not used
   * without the other one.
   */
  get unusedHalf(): Advice & { readonly name: "username" | "password" } | undefined {
    const name = this.#unusedName();
    if (name === undefined) return undefined;
    const other = name === "username" ? "password" : "username";
    const isPassedOn = name === "username" && this.found.has(other);
    return {
      name,
      problem: `the environment has ${variableOf(name)}, which is used only together with ` +
        VARIABLES[other],
      fix: isPassedOn
        ? [{ inProgram: "pass it as an option", inTerminal: "pass it with --username" }]
        : `also set ${VARIABLES[other]} in the environment`,
    };
  }

  #unusedName(): "username" | "password" | undefined {
    const username = environment(VARIABLES.username);
    const hasPassword = Boolean(environment(variableOf("password")));
    if (Boolean(username) === hasPassword) return undefined;
    if (hasPassword) return this.found.has("password") ? undefined : "password";
    // Windows and some desktops set USERNAME to the name of the computer's user. It is reported only
    // if a password is set.
    const isOfSystem = Deno.build.os === "windows" || username === environment("USER");
    const isMeant = !isOfSystem || this.found.has("password");
    return isMeant && !this.found.has("username") ? "username" : undefined;
  }
}

/**
 * Collects the settings. Options override the environment, which overrides the `.env`. Variables
 * that would need a permission prompt are skipped.
 *
 * @param isDefault Whether these are the settings of the default session. The default session reads
 * all variables. If the user specifies no file, it uses the nearest `.env` or the global one.
 * @param earlier Earlier settings, whose `.env` is read again. Another file is used only if that
 * file never existed.
 * @throws {ConfigError} `INVALID_SETTING` if a setting contains a control character, the file of a
 * secret cannot be used, or a variable of an earlier version is set; `PERMISSION` if the file of a
 * secret may not be read.
 */
export function resolveSettings(
  options: SessionOptions,
  isDefault: boolean,
  earlier?: Settings,
): Settings {
  const removed = "AUTH_TOKEN_COMMAND";
  if (isDefault) refuseTokenCommand(removed, environment(removed));
  const location = earlier ? locatedAgain(earlier.location) : locate(options, isDefault);
  const now = location.path === undefined ? NO_FILE : readEnvFile(location.path);
  const file = earlier && isBeingWritten(now) ? earlier.file : now;
  const found = new Map<SettingName, FoundSetting>();
  for (const source of sourcesOf(options, isDefault, file)) addFrom(source, found);
  const isLent = options.token !== undefined;
  const usesTokens = isDefault && !isLent && options.exportEnv !== "none";
  const trust = trustIn(location, file, found, usesTokens);
  for (const name of trust.withheld?.names ?? []) found.delete(name);
  const ownDialect = typeof options.provider === "object" ? options.provider : undefined;
  return new Settings(location, file, found, trust, ownDialect, isLent);
}

/** A place where settings are set. */
interface Source {
  readonly origin: SettingOrigin;
  /** Returns the text of a setting that may be set there; `undefined` if it is not set. */
  read(name: SettingName): string | undefined;
}

/** The sources of the settings, the strongest first. */
function sourcesOf(options: SessionOptions, isDefault: boolean, file: EnvSnapshot): Source[] {
  return [
    { origin: "option", read: (name) => optionText(options, name) },
    {
      origin: "environment",
      // Only the default session uses AUTH_STORE, because no other session takes tokens from the
      // environment.
      read: (name) => name === "store" && !isDefault ? undefined : settingInEnvironment(name),
    },
    {
      origin: "file",
      read: (name) => SETTING_RULES[name].notInFile ? undefined : file.values.get(VARIABLES[name]),
    },
  ];
}

/** Adds the settings of a source to those of the stronger sources. */
function addFrom(source: Source, found: Map<SettingName, FoundSetting>): void {
  const { origin } = source;
  const decided = decidedWithout(source, found);
  for (const name of SETTING_NAMES.filter((name) => !decided.has(name))) {
    const text = source.read(name);
    if (text === undefined || !isValue(name, text, origin)) continue;
    found.set(name, { text: new Secret(clean(name, text)), origin });
  }
}

/** The settings that a source cannot set, because of what stronger sources have set. */
function decidedWithout(
  source: Source,
  found: ReadonlyMap<SettingName, FoundSetting>,
): ReadonlySet<SettingName> {
  // The endpoint comes as a whole from the strongest source that contains any part of it. Without
  // AUTH_URL, the dialect provides missing parts of the host.
  const hasEndpoint = ENDPOINT_NAMES.some((name) => found.has(name));
  const address = hasEndpoint ? ENDPOINT_NAMES : [];
  const dialect = hasEndpoint && !found.has("authUrl") ? ["provider"] as const : [];
  const pair = isPairOf(source, found.get("username")) ? [] : PAIR;
  return new Set([...found.keys(), ...address, ...dialect, ...pair]);
}

/**
 * Whether user name and password of a source may be used. A password must not be sent with the user
 * name of another source. Some systems set USERNAME in the environment, so it is used from there
 * only together with PASSWORD.
 *
 * @param chosen The user name in a stronger source.
 */
function isPairOf({ origin, read }: Source, chosen: FoundSetting | undefined): boolean {
  const username = read("username");
  if (origin === "environment" && !(username && environment(variableOf("password")))) return false;
  return !username || chosen === undefined || username === chosen.text.reveal();
}

/** Whether a text counts as a value. If not, the setting is not set. */
function isValue(name: SettingName, text: string, origin: SettingOrigin): boolean {
  if (text.trim() !== "") return true;
  // An empty client secret means a public client.
  if (name === "clientSecret") return text === "";
  // A blank option allows no further origin, even if the environment contains some.
  return name === "allowedOrigins" && origin === "option";
}

/**
 * Checks the text of options. Reads no files and no variables.
 *
 * @throws {ConfigError} `INVALID_SETTING` if an option contains a control character, or if
 * `envFile` is not the path of a file.
 */
export function checkOptionTexts(options: SessionOptions): void {
  for (const name of SETTING_NAMES) clean(name, optionText(options, name) ?? "");
  if (options.envFile !== undefined) checkEnvFileName(options.envFile);
}

/** Reports lines of the file that are ignored because they may come from a copied project. */
function unusedLines(file: EnvSnapshot): Advice[] {
  const unused = SETTING_NAMES.filter((name) => SETTING_RULES[name].notInFile)
    .map((name) => VARIABLES[name]);
  return [...unused, ...FILE_VARIABLES]
    .filter((variable) => file.values.get(variable))
    .map((variable) => ({
      problem:
        `${variable} in the .env is not used, because a .env may come with someone else's project`,
      fix: "set it in the environment, and remove the line",
    }));
}

function locate(options: SessionOptions, isDefault: boolean): EnvLocation {
  if (options.envFile !== undefined) return namedEnvFile(options.envFile);
  if (!isDefault) return namedEnvFile(false);
  const name = environment(ENV_FILE_VARIABLE) ?? "";
  return name === "" ? orOwnFile(nearestEnvFile()) : namedEnvFile(name);
}

/** Returns an option as the text that an environment variable would contain. */
function optionText(options: SessionOptions, name: SettingName): string | undefined {
  const value = options[name];
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value)) return value.join(",");
  if (value instanceof URL || typeof value === "number") return String(value);
  // This text only shows that the option is set; `ownDialect` and `ownStore` have the objects.
  return "an object";
}

/** @throws {ConfigError} `INVALID_SETTING` if the value contains a control character. */
function clean(name: SettingName, value: string): string {
  // Blanks and all other characters can belong to a password.
  if (name === "password") return withoutOuterBreaks(value);
  const trimmed = value.trim();
  // deno-lint-ignore no-control-regex -- a control character must not reach a header or a URL
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot use ${VARIABLES[name]} (${name}): it contains a control character`,
      "paste the value again as one line",
    );
  }
  return trimmed;
}
