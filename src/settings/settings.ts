import {
  checkEnvFileName,
  type EnvLocation,
  namedEnvFile,
  nearestEnvFile,
} from "../dotenv/location.ts";
import { type EnvSnapshot, readEnvFile } from "../dotenv/file.ts";
import { ConfigError } from "../errors/errors.ts";
import { lineOf } from "./split_command.ts";
import type { SessionOptions } from "./options.ts";
import { environment } from "../runtime/environment.ts";
import { Secret } from "../values/secret.ts";

/** The settings that have a variable, by option name. */
export const VARIABLES = {
  authUrl: "AUTH_URL",
  region: "AUTH_REGION",
  providerHost: "AUTH_PROVIDER_HOST",
  providerDomain: "AUTH_PROVIDER_DOMAIN",
  provider: "AUTH_PROVIDER",
  clientId: "APP_CLIENT_ID",
  clientSecret: "APP_CLIENT_SECRET",
  userPoolId: "USER_POOL_ID",
  username: "USERNAME",
  password: "PASSWORD",
  refreshSecretHash: "AUTH_REFRESH_SECRET_HASH",
  apiBaseUrl: "API_BASE_URL",
  allowedOrigins: "API_ALLOWED_ORIGINS",
  timeoutMs: "AUTH_TIMEOUT_MS",
  tokenCommand: "AUTH_TOKEN_COMMAND",
  store: "AUTH_STORE",
  storeKey: "AUTH_STORE_KEY",
} as const;

/** Name of a setting that has a variable. */
export type SettingName = keyof typeof VARIABLES;

/** Never read from a `.env`: a project that was copied must not run commands or lead tokens elsewhere. */
const NOT_FROM_FILE: readonly SettingName[] = ["tokenCommand", "store", "storeKey"];

/** Where the value of a setting came from. */
export type SettingOrigin = "option" | "environment" | "file";

interface Setting {
  readonly text: Secret;
  readonly origin: SettingOrigin;
}

/** Deadline of one login or refresh, where none is set. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** The milliseconds of `timeoutMs`: a whole number from 1 to one hour; `undefined` if it is not. */
export function timeoutIn(text: string | undefined): number | undefined {
  const ms = text === undefined ? DEFAULT_TIMEOUT_MS : Number(text);
  return Number.isInteger(ms) && ms >= 1 && ms <= 3_600_000 ? ms : undefined;
}

const NO_FILE: EnvSnapshot = { exists: false, values: new Map() };

/** The settings of a session at one moment, as text, with where each came from. Checked where they are used. */
export class Settings {
  /** Absolute path of the `.env`; `undefined`: memory only. */
  readonly envFile: string | undefined;
  /** The `.env` as it was read. */
  readonly file: EnvSnapshot;
  /** What the user should know about how they were found. */
  readonly notes: readonly string[];
  /** Where the `.env` is, and what is to be said of its place. */
  readonly location: EnvLocation;
  readonly #found: ReadonlyMap<SettingName, Setting>;

  constructor(
    location: EnvLocation,
    file: EnvSnapshot,
    found: ReadonlyMap<SettingName, Setting>,
  ) {
    this.envFile = location.path;
    this.file = file;
    this.location = location;
    this.#found = found;
    const isBoth = found.has("tokenCommand") && found.has("store");
    this.notes = [
      ...location.notes,
      ...NOT_FROM_FILE.flatMap((name) => unusedLine(name, file)),
      ...(isBoth
        ? ["AUTH_STORE is not used, because AUTH_TOKEN_COMMAND is set; unset one of them"]
        : []),
    ];
  }

  /** The value as text; `undefined` if it is not set. */
  text(name: SettingName): string | undefined {
    return this.#found.get(name)?.text.reveal();
  }

  /** The value of a setting that must not be shown. */
  secret(name: "password" | "clientSecret" | "storeKey"): Secret | undefined {
    return this.#found.get(name)?.text;
  }

  /** Where the value came from; `undefined` if it is not set. */
  origin(name: SettingName): SettingOrigin | undefined {
    return this.#found.get(name)?.origin;
  }
}

/**
 * Collects the settings: options win over the environment, the environment over the `.env`. Nothing
 * is probed that would make the runtime ask for a permission.
 *
 * @param ownFile Whether the nearest `.env` is used where none is named (the default session).
 * @param earlier Settings whose `.env` stays the one, though its lines may have changed.
 * @throws {ConfigError} `INVALID_SETTING` naming a setting with a control character.
 */
export function resolveSettings(
  options: SessionOptions,
  ownFile: boolean,
  earlier?: Settings,
): Settings {
  const location = earlier ? earlier.location : locate(options, ownFile);
  const file = location.path === undefined ? NO_FILE : readEnvFile(location.path);
  const found = new Map<SettingName, Setting>();
  const put = (name: SettingName, value: string | undefined, origin: SettingOrigin) => {
    if (value === undefined || found.has(name)) return;
    // Empty counts as not set, but for a client without a secret and an option that allows no origin.
    const chosenEmpty = (name === "clientSecret" && value === "") ||
      (name === "allowedOrigins" && origin === "option");
    if (value.trim() === "" && !chosenEmpty) return;
    found.set(name, { text: new Secret(clean(name, value)), origin });
  };
  const names = Object.keys(VARIABLES) as SettingName[];
  for (const name of names) put(name, optionText(options, name), "option");
  for (const [origin, read] of sources(file)) {
    const pair = credentialsOf(read, origin, found.get("username")?.text.reveal());
    for (const name of names) {
      // Another account beside the default one takes no tokens by way of the environment.
      if (NOT_FROM_FILE.includes(name) && (origin === "file" || !(ownFile || isKey(name)))) {
        continue;
      }
      if (name === "username" || name === "password") put(name, pair[name], origin);
      else put(name, read(VARIABLES[name]), origin);
    }
  }
  return new Settings(location, file, found);
}

/**
 * Checks what options say by themselves, before they are used. Reads nothing.
 *
 * @throws {ConfigError} `INVALID_SETTING` naming an option with a control character, or an `envFile` that is no file.
 */
export function checkOptionTexts(options: SessionOptions): void {
  for (const name of Object.keys(VARIABLES) as SettingName[]) {
    clean(name, optionText(options, name) ?? "");
  }
  if (options.envFile !== undefined) checkEnvFileName(options.envFile);
}

/** A key by itself leads nowhere. */
function isKey(name: SettingName): boolean {
  return name === "storeKey";
}

function unusedLine(name: SettingName, file: EnvSnapshot): string[] {
  const variable = VARIABLES[name];
  return file.values.get(variable)
    ? [
      `${variable} in the .env is not used, because a project that was copied must not decide it; ` +
      "set it in the environment or as an option, and remove the line",
    ]
    : [];
}

type Read = (variable: string) => string | undefined;

function sources(file: EnvSnapshot): [SettingOrigin, Read][] {
  return [["environment", environment], ["file", (variable) => file.values.get(variable)]];
}

function locate(options: SessionOptions, ownFile: boolean): EnvLocation {
  if (options.envFile !== undefined) return namedEnvFile(options.envFile);
  if (!ownFile) return namedEnvFile(false);
  return namedEnvFileOr(environment("AUTH_ENV_FILE"));
}

function namedEnvFileOr(name: string | undefined): EnvLocation {
  return name === undefined || name === "" ? nearestEnvFile() : namedEnvFile(name);
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

function optionText(options: SessionOptions, name: SettingName): string | undefined {
  const value = options[name];
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value)) return name === "tokenCommand" ? lineOf(value) : value.join(",");
  if (value instanceof URL || typeof value === "number") return String(value);
  // The object itself is read where the dialect is chosen: here only its origin counts.
  return name === "provider" && typeof value === "object" ? "an object" : undefined;
}

function clean(name: SettingName, value: string): string {
  if (name === "password") return value;
  const trimmed = value.trim();
  // deno-lint-ignore no-control-regex -- a control character must not reach a header or a URL
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot use ${
        VARIABLES[name]
      } (${name}): it holds a control character; paste it again as one line`,
    );
  }
  return trimmed;
}
