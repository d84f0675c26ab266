import {
  checkEnvFileName,
  type EnvLocation,
  namedEnvFile,
  nearestEnvFile,
} from "./env_location.ts";
import { type EnvSnapshot, readEnvFile } from "./env_file.ts";
import type { Advice } from "../errors/advice.ts";
import { ConfigError } from "../errors/errors.ts";
import {
  DEFAULT_TIMEOUT_MS,
  ENV_FILE_VARIABLE,
  parseTimeout,
  portalAddress,
  type SecretName,
  type SessionOptions,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  VARIABLES,
} from "./options.ts";
import { environment } from "../platform/environment.ts";
import { displayPath } from "../platform/paths.ts";
import { Secret } from "../platform/secret.ts";

/** Where the value of a setting came from. */
export type SettingOrigin = "option" | "environment" | "file";

/** A value that was found. */
interface Found {
  readonly text: Secret;
  readonly origin: SettingOrigin;
}

const NO_FILE: EnvSnapshot = { exists: false, values: new Map() };

/**
 * The settings of a session at one moment, as text, with where each came from. Checked where they are
 * used.
 */
export class Settings {
  /** Absolute path of the `.env`; `undefined`: memory only. */
  readonly envFile: string | undefined;
  /** The `.env` as it was read. */
  readonly file: EnvSnapshot;
  /** Where the `.env` is, and what the user should know about its place. */
  readonly location: EnvLocation;
  readonly #found: ReadonlyMap<SettingName, Found>;
  constructor(
    location: EnvLocation,
    file: EnvSnapshot,
    found: ReadonlyMap<SettingName, Found>,
  ) {
    this.envFile = location.path;
    this.file = file;
    this.location = location;
    this.#found = found;
  }

  /** What the user should know about how they were found. */
  get notes(): readonly Advice[] {
    return [
      ...foreignFiles(this.location),
      ...unusedLines(this.file),
      ...unusedStore(this.#found),
    ];
  }

  /** The value as text; `undefined` if it is not set. */
  text(name: SettingName): string | undefined {
    return this.#found.get(name)?.text.reveal();
  }

  /** The value of a setting that must not be shown. */
  secret(name: SecretName): Secret | undefined {
    return this.#found.get(name)?.text;
  }

  /** The deadline of one login or refresh in milliseconds; the default where what is set cannot be used. */
  get timeoutMs(): number {
    return parseTimeout(this.text("timeoutMs")) ?? DEFAULT_TIMEOUT_MS;
  }

  /** The address of the portal; `undefined` where none is set, or one that must not be a link. */
  get portalUrl(): string | undefined {
    return portalAddress(this.text("portalUrl") ?? "");
  }

  /** Where the value came from; `undefined` if it is not set. */
  origin(name: SettingName): SettingOrigin | undefined {
    return this.#found.get(name)?.origin;
  }

  /** Where a setting is set, for messages. */
  placeOf(name: SettingName): string {
    const places: Readonly<Record<SettingOrigin, string>> = {
      option: `(the option ${name})`,
      environment: "in the environment",
      file: `in ${displayPath(this.envFile)}`,
    };
    const origin = this.origin(name);
    return `${VARIABLES[name]} ${origin === undefined ? "" : places[origin]}`.trim();
  }

  /** The half of user name and password that only the environment has: it is not used alone. */
  get unusedHalf(): "username" | "password" | undefined {
    const [username, password] = [VARIABLES.username, VARIABLES.password].map(environment);
    if (Boolean(username) === Boolean(password)) return undefined;
    // Windows and some desktops set the name of the computer's user.
    const isOfSystem = Deno.build.os === "windows" || username === environment("USER");
    if (username && isOfSystem) return undefined;
    const half = username ? "username" : "password";
    return this.#found.has(half) ? undefined : half;
  }
}

/**
 * Collects the settings: options win over the environment, the environment over the `.env`. Nothing
 * is probed that would make the runtime ask for a permission.
 *
 * @param isDefault Whether it is the default session: it uses the nearest `.env` where none is named, and
 *   reads all variables.
 * @param earlier Settings whose `.env` stays the one, though its lines may have changed.
 * @throws {ConfigError} `INVALID_SETTING` naming a setting with a control character.
 */
export function resolveSettings(
  options: SessionOptions,
  isDefault: boolean,
  earlier?: Settings,
): Settings {
  const location = earlier ? earlier.location : locate(options, isDefault);
  const file = location.path === undefined ? NO_FILE : readEnvFile(location.path);
  const found = new Map<SettingName, Found>();
  const put = (name: SettingName, value: string | undefined, origin: SettingOrigin) => {
    if (value === undefined || found.has(name)) return;
    if (value.trim() === "" && !mayBeBlank(name, value, origin)) return;
    found.set(name, { text: new Secret(clean(name, value)), origin });
  };
  for (const name of SETTING_NAMES) put(name, optionText(options, name), "option");
  for (const [origin, read] of sources(file)) {
    const pair = credentialsOf(read, origin, found.get("username")?.text.reveal());
    for (const name of SETTING_NAMES) {
      if (!mayStandIn(origin, name, isDefault)) continue;
      if (name === "username" || name === "password") put(name, pair[name], origin);
      else put(name, read(VARIABLES[name]), origin);
    }
  }
  return new Settings(location, file, found);
}

/**
 * Checks what options say by themselves, before they are used. Reads nothing.
 *
 * @throws {ConfigError} `INVALID_SETTING` naming an option with a control character, or an `envFile`
 *   that is no file.
 */
export function checkOptionTexts(options: SessionOptions): void {
  for (const name of SETTING_NAMES) clean(name, optionText(options, name) ?? "");
  if (options.envFile !== undefined) checkEnvFileName(options.envFile);
}

/** Whether a setting is read from the environment, or from the file. */
function mayStandIn(
  origin: "environment" | "file",
  name: SettingName,
  isDefault: boolean,
): boolean {
  const { readFrom } = SETTINGS[name];
  if (readFrom === "environment and file") return true;
  return origin === "environment" && (isDefault || readFrom === "environment");
}

/** Whether a blank text is a value of a setting. Elsewhere it is the same as none. */
function mayBeBlank(name: SettingName, text: string, origin: SettingOrigin): boolean {
  const { blank } = SETTINGS[name];
  if (blank === "value if empty") return text === "";
  return blank === "value as an option" && origin === "option";
}

function foreignFiles({ foreign }: EnvLocation): Advice[] {
  return foreign.map((path) => ({
    problem: `${path} belongs to another user and is ignored`,
    fix: `name the file to use in ${ENV_FILE_VARIABLE}`,
  }));
}

/** Lines of the file that are not read, because a project that was copied brings them along. */
function unusedLines(file: EnvSnapshot): Advice[] {
  return SETTING_NAMES.filter((name) => !mayStandIn("file", name, true))
    .map((name) => VARIABLES[name])
    .filter((variable) => file.values.get(variable))
    .map((variable) => ({
      problem:
        `${variable} in the .env is not used, because a project that was copied must not decide it`,
      fix: "set it in the environment or as an option, and remove the line",
    }));
}

/** A command has the tokens by itself. */
function unusedStore(found: ReadonlyMap<SettingName, unknown>): Advice[] {
  if (!found.has("tokenCommand") || !found.has("store")) return [];
  return [{
    problem: "AUTH_STORE is not used, because AUTH_TOKEN_COMMAND is set",
    fix: "unset one of them",
  }];
}

type Read = (variable: string) => string | undefined;

function sources(file: EnvSnapshot): ["environment" | "file", Read][] {
  return [["environment", environment], ["file", (variable) => file.values.get(variable)]];
}

function locate(options: SessionOptions, isDefault: boolean): EnvLocation {
  if (options.envFile !== undefined) return namedEnvFile(options.envFile);
  if (!isDefault) return namedEnvFile(false);
  const name = environment(ENV_FILE_VARIABLE) ?? "";
  return name === "" ? nearestEnvFile() : namedEnvFile(name);
}

/**
 * User name and password belong together: some shells set USERNAME by themselves, and a password
 * must not be sent with a name that it does not belong to.
 */
function credentialsOf(
  read: Read,
  origin: SettingOrigin,
  chosen: string | undefined,
): { username?: string | undefined; password?: string | undefined } {
  const username = read(VARIABLES.username);
  const password = read(VARIABLES.password);
  if (origin === "environment" && !(username && password)) return {};
  if (chosen !== undefined && username && username !== chosen) return {};
  return { username, password };
}

/** An option as text, the form in which it stands in the environment. */
function optionText(options: SessionOptions, name: SettingName): string | undefined {
  const value = options[name];
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value)) return SETTINGS[name].listText?.(value) ?? value.join(",");
  if (value instanceof URL || typeof value === "number") return String(value);
  // The object itself is read where the dialect is chosen: here only its origin counts.
  return "an object";
}

/** @throws {ConfigError} `INVALID_SETTING` if it holds a control character. */
function clean(name: SettingName, value: string): string {
  if (SETTINGS[name].verbatim) return value;
  const trimmed = value.trim();
  // deno-lint-ignore no-control-regex -- a control character must not reach a header or a URL
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot use ${VARIABLES[name]} (${name}): it holds a control character`,
      "paste it again as one line",
    );
  }
  return trimmed;
}
