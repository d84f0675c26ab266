/**
 * Who may receive a secret.
 *
 * The environment belongs to the user, but a `.env` that was merely found may have come with
 * someone else's project. A secret from the environment is therefore never sent to a host that only
 * a found file names. The hosts in a file are trusted if the user named the file.
 */
import type { EnvSnapshot } from "./env_file.ts";
import type { EnvLocation } from "./env_location.ts";
import type { Advice } from "../errors/advice.ts";
import { ENDPOINT_NAMES, ENV_FILE_VARIABLE, type SettingName, VARIABLES } from "./options.ts";
import { isOfAnother, readClaims } from "../platform/claims.ts";
import { environment } from "../platform/environment.ts";
import { displayPath } from "../platform/paths.ts";

/** The settings that name the hosts which receive secrets. */
export const RECEIVERS = [...ENDPOINT_NAMES, "apiBaseUrl", "allowedOrigins"] as const;

/** The settings that contain a secret, or lead to one. */
const SECRETS = ["password", "clientSecret", "tokenCommand", "store"] as const;

/**
 * The variable with the path of the `.env` whose hosts may receive `ACCESS_TOKEN`. A session sets
 * it together with the token, so that a child process in the same folder can use both.
 */
export const TOKEN_FILE_VARIABLE = "ACCESS_TOKEN_ENV_FILE";

/** The hosts that receive the access token with these settings, each once. */
export function apiHosts(text: (name: "apiBaseUrl" | "allowedOrigins") => string | undefined) {
  const addresses = [text("apiBaseUrl") ?? "", ...(text("allowedOrigins") ?? "").split(",")];
  return [...new Set(addresses.flatMap((address) => URL.parse(address.trim())?.host || []))];
}

/** Returns the text and the source of a setting. */
export type Found = (
  name: SettingName,
) => { readonly text: string; readonly origin: string } | undefined;

/** Hosts in a found `.env` that receive nothing, because of secrets in the environment. */
export interface Withheld extends Advice {
  readonly fix: string;
  readonly names: readonly SettingName[];
}

/**
 * Returns the settings of a found `.env` that must not be used, because the environment contains a
 * secret that the file does not contain, too.
 */
export function withheldHosts(
  location: EnvLocation,
  file: EnvSnapshot,
  found: Found,
  usesTokens: boolean,
): Withheld | undefined {
  const names = foundReceivers(location, found);
  if (names.length === 0 || location.path === undefined) return undefined;
  const secrets: string[] = SECRETS.filter((name) => {
    const { text, origin } = found(name) ?? {};
    // A command or a store cannot be set in a file, so a file cannot contain it, too.
    const isInFile = name !== "tokenCommand" && name !== "store" &&
      file.values.get(VARIABLES[name]) === text;
    return origin === "environment" && text !== "" && !isInFile;
  }).map((name) => VARIABLES[name]);
  if (usesTokens) secrets.push(...tokensInUse(location.path, file, found));
  if (secrets.length === 0) return undefined;
  const hosts = names.map((name) => VARIABLES[name]).join(" and ");
  return {
    names,
    problem: `${hosts} in ${displayPath(location.path)} must not receive ${
      secrets.join(" and ")
    } from the environment, because this file was found, not named`,
    fix:
      `to trust the file, set ${ENV_FILE_VARIABLE}=${location.path} (--env-file in a terminal); ` +
      "or set the addresses in the environment",
  };
}

/** Whether the hosts of a found file are in use, so that tokens of the environment must not be. */
export function usesFoundHosts(location: EnvLocation, found: Found): boolean {
  return foundReceivers(location, found).length > 0 && !isTokensOwn(location.path);
}

function foundReceivers({ isNamed }: EnvLocation, found: Found): SettingName[] {
  return isNamed ? [] : RECEIVERS.filter((name) => found(name)?.origin === "file");
}

/** Whether a session that used the hosts of this file put the tokens into the environment. */
function isTokensOwn(path: string | undefined): boolean {
  return path !== undefined && environment(TOKEN_FILE_VARIABLE) === path;
}

/** The variables with tokens that a session would use instead of those in the file. */
function tokensInUse(path: string, { values }: EnvSnapshot, found: Found): string[] {
  const differing = ["ACCESS_TOKEN", "REFRESH_TOKEN"].filter((variable) => {
    const text = environment(variable);
    return text && text !== values.get(variable);
  });
  if (differing.length === 0 || isTokensOwn(path)) return [];
  const claimsOf = (text = "") => readClaims(text.replace(/^bearer\s+/i, ""));
  const own = claimsOf(environment("ACCESS_TOKEN"));
  const stored = values.get("ACCESS_TOKEN") ?? values.get("REFRESH_TOKEN");
  const kept = stored === undefined ? undefined : claimsOf(values.get("ACCESS_TOKEN"));
  if (isOfAnother(own, found("clientId")?.text ?? kept?.clientId, kept)) return [];
  return kept === undefined || (own.iat ?? 0) > (kept.iat ?? 0) ? differing : [];
}
