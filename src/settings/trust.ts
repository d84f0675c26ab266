/**
 * Who may receive a secret.
 *
 * The environment belongs to the user, but a `.env` that was found by search may have come with
 * someone else's project. So a session uses either the hosts of such a file or the secrets of the
 * environment, never both. The hosts in a file that the user specified, or in the global `.env`,
 * are trusted.
 */
import type { EnvSnapshot } from "./env_file.ts";
import type { EnvLocation } from "./env_location.ts";
import type { Advice } from "../errors/advice.ts";
import {
  ENDPOINT_NAMES,
  ENV_FILE_VARIABLE,
  type SettingName,
  type SettingOrigin,
  VARIABLES,
} from "./options.ts";
import { checksum } from "../files/checksum.ts";
import { readClaims } from "../platform/claims.ts";
import { environment, foreignVariable, inheritedVariable } from "../platform/environment.ts";
import { displayPath } from "../files/paths.ts";
import { variableOf } from "./secret_file.ts";
import type { Secret } from "../platform/secret.ts";

/** The settings with the hosts that receive secrets. */
const RECEIVERS = [...ENDPOINT_NAMES, "apiBaseUrl", "allowedOrigins"] as const;

/** The settings that contain a secret or provide tokens. */
const SECRETS = ["password", "clientSecret", "store"] as const;

/**
 * The variable that says to which hosts the tokens in the environment may be sent. It contains the
 * path and the hosts of a `.env`, and a checksum of the tokens. A session sets this variable
 * together with `ACCESS_TOKEN`, so that a child process in the same folder may send this token to
 * these hosts, but no other token.
 */
export const AUDIENCE_VARIABLE = "ACCESS_TOKEN_ENV_FILE";

/**
 * Returns the value of {@linkcode AUDIENCE_VARIABLE}.
 *
 * @param read Reads the tokens in the environment.
 */
export function audienceText(audience: string, read = environment): string {
  const tokens = ["ACCESS_TOKEN", "REFRESH_TOKEN"].map((name) => read(name) ?? "");
  return `${checksum(tokens.join(" "))} ${audience}`;
}

/** The value and the source of a setting. */
export interface FoundSetting {
  readonly text: Secret;
  readonly origin: SettingOrigin;
}

type Found = ReadonlyMap<SettingName, FoundSetting>;

/**
 * Hosts in a `.env` that was found by search. They receive nothing as long as the environment
 * contains secrets.
 */
export interface Withheld extends Advice {
  readonly fix: string;
  readonly names: readonly SettingName[];
}

/** What a session may use of a `.env` and the environment. A change drops the tokens in memory. */
export interface Trust {
  /** If set, the hosts in the file are not used, and nothing is stored in the file. */
  readonly withheld?: Withheld;
  /**
   * Whether the session uses the hosts in a file that was found by search, and therefore no tokens
   * from the environment.
   */
  readonly isFound: boolean;
  /** The path and the hosts of the file; `undefined` if no host in the file is used. */
  readonly audience?: string;
  /**
   * The user to whom a session in the file must belong; `undefined` if it may belong to anyone. A
   * session in a file that was found by search may be a stranger's, so it must not replace a login
   * with the user name and password that the user set elsewhere.
   */
  readonly user?: string | undefined;
}

/**
 * Decides what a session may use.
 *
 * @param usesTokens Whether the session reads tokens from the environment.
 */
export function trustIn(
  location: EnvLocation,
  file: EnvSnapshot,
  found: Found,
  usesTokens: boolean,
): Trust {
  const { path } = location;
  const user = isChosen(location) ? undefined : userOf(file, found);
  const hosts = RECEIVERS.filter((name) => found.get(name)?.origin === "file");
  if (hosts.length === 0 || path === undefined) return { isFound: false, user };
  const texts = RECEIVERS.map((name) => hosts.includes(name) ? textOf(found, name) : "");
  const audience = [path, ...texts].join(" ").trim();
  if (isChosen(location)) return { isFound: false, user, audience };
  // If so, the tokens come from a parent process that used the same file with the same hosts.
  const isChild =
    inheritedVariable(AUDIENCE_VARIABLE) === audienceText(audience, inheritedVariable);
  const secrets = SECRETS.filter((name) => isOfEnvironment(name, file, found)).map(variableOf);
  if (usesTokens && !isChild) secrets.push(...tokensInUse(file, textOf(found, "clientId")));
  if (secrets.length === 0) return { isFound: !isChild, user, audience };
  return { isFound: false, user, withheld: withheldFrom(path, hosts, secrets) };
}

/** Whether the user chose the file. Any other file may have come with someone else's project. */
export function isChosen({ kind }: EnvLocation): boolean {
  return kind === "named" || kind === "own";
}

/** The user to whom a session in a file that was found by search must belong. */
function userOf({ values }: EnvSnapshot, found: Found): string | undefined {
  const isSet = (["username", "password"] as const).every((name) => {
    const setting = found.get(name);
    return setting !== undefined && setting.origin !== "file";
  });
  // A file with the user's password is the user's own.
  const isOwn = values.get(VARIABLES.password) === textOf(found, "password");
  return isSet && !isOwn ? textOf(found, "username") : undefined;
}

function textOf(found: Found, name: SettingName): string | undefined {
  return found.get(name)?.text.reveal();
}

function withheldFrom(
  path: string,
  names: readonly SettingName[],
  secrets: readonly string[],
): Withheld {
  const hosts = names.map((name) => VARIABLES[name]).join(" and ");
  const given = secrets.join(" and ");
  const { problem, fix } = notSent(given, path, ` (${hosts})`);
  return {
    names,
    problem,
    fix: `${fix}; otherwise set ${hosts} in the environment, or unset ${given}`,
  };
}

/** Says that the hosts in a file that was found by search do not get a secret of the environment. */
export function notSent(
  secret: string,
  path: string,
  hosts = "",
): { readonly problem: string; readonly fix: string } {
  return {
    problem: `${secret} from the environment is not sent to the hosts in ${
      displayPath(path)
    }${hosts}: this file was found by search, so someone else may have written it`,
    fix: `to trust the file, set ${ENV_FILE_VARIABLE}=${path}`,
  };
}

/** Whether a secret comes from the environment and is not also in the file. */
function isOfEnvironment(
  name: typeof SECRETS[number],
  { values }: EnvSnapshot,
  found: Found,
): boolean {
  const text = textOf(found, name);
  if (found.get(name)?.origin !== "environment" || text === "") return false;
  // A store cannot be set in a file.
  return name === "store" || values.get(VARIABLES[name]) !== text;
}

/**
 * The variables with tokens that a session would use. A session does not use these tokens if the
 * file contains a session, if the tokens belong to another app client, or if they have expired and
 * cannot be refreshed.
 */
function tokensInUse({ values }: EnvSnapshot, clientId: string | undefined): string[] {
  if (values.get("ACCESS_TOKEN") || values.get("REFRESH_TOKEN")) return [];
  const variables = ["ACCESS_TOKEN", "REFRESH_TOKEN"].filter(foreignVariable);
  const claims = readClaims((environment("ACCESS_TOKEN") ?? "").replace(/^bearer\s+/i, ""));
  const isOther = clientId !== undefined && claims.clientId !== clientId;
  const isOver = claims.exp !== undefined && claims.exp * 1_000 < Date.now();
  return isOther || (isOver && !variables.includes("REFRESH_TOKEN")) ? [] : variables;
}

/** The hosts that receive the access token with these settings, each once. */
export function apiHosts(text: (name: "apiBaseUrl" | "allowedOrigins") => string | undefined) {
  const addresses = [text("apiBaseUrl") ?? "", ...(text("allowedOrigins") ?? "").split(",")];
  return [...new Set(addresses.flatMap((address) => URL.parse(address.trim())?.host || []))];
}
