import { ConfigError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { SETTING_NAMES, type SettingName } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";
import { readPortalToken } from "./portal_token.ts";
import { Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import { readClaims } from "../platform/claims.ts";
import type { Learned, RefreshVariant, TokenParts, Tokens } from "../provider/tokens.ts";

/**
 * The keys of a `.env` that belong to this module (section 5.5). A logout removes all these keys.
 */
export const TOKEN_KEYS = [
  "ACCESS_TOKEN",
  "REFRESH_TOKEN",
  "ACCESS_TOKEN_EXPIRES_AT",
  "AUTHENTICATED_AT",
  "AUTH_SESSION",
] as const;

/** The lines that store a session; `undefined` removes a line. */
export function linesOf(tokens: Tokens | undefined): Map<string, string | undefined> {
  return new Map<string, string | undefined>([
    // A session may consist of a refresh token alone.
    ["ACCESS_TOKEN", tokens?.accessToken.reveal() || undefined],
    ["REFRESH_TOKEN", tokens?.refreshToken?.reveal()],
    ["ACCESS_TOKEN_EXPIRES_AT", isoText(tokens?.expiresAt || undefined)],
    ["AUTHENTICATED_AT", isoText(tokens?.authenticatedAt)],
    ["AUTH_SESSION", tokens && learnedText(tokens)],
  ]);
}

/** Returns the lines of `linesOf()` as a record, which is empty if there is no session. */
export function recordOf(tokens: Tokens | undefined): Record<string, string> {
  return Object.fromEntries(
    [...linesOf(tokens)].flatMap(([key, value]) => value === undefined ? [] : [[key, value]]),
  );
}

/** The app client and the provider that issue a session's tokens, as far as they are known. */
export interface Issuer {
  readonly clientId: string | undefined;
  /** Origin of the provider. */
  readonly provider: string | undefined;
}

/** Tokens read from text. */
export interface StoredTokens {
  readonly parts: TokenParts | undefined;
  /** The reason why the tokens are not used. */
  readonly note?: { readonly problem: string; readonly fix: Fix };
}

/**
 * Reads stored tokens.
 *
 * @param read Returns the value of a key in the store.
 * @param issuer The configured client and provider. A refresh token of another client is useless,
 * and tokens of another provider must not be sent to this provider.
 */
export function readStored(
  read: (key: string) => string | undefined,
  source: "file" | "environment" | "store",
  { clientId, provider }: Issuer,
): StoredTokens {
  const place = source === "file" ? "the .env" : `the ${source}`;
  const ignored = (problem: string): StoredTokens => ({
    parts: undefined,
    note: { problem: `${problem} and is ignored`, fix: ["run ", { call: "login" }] },
  });
  const accessText = read("ACCESS_TOKEN");
  const refreshText = read("REFRESH_TOKEN");
  if (!accessText && !refreshText) return { parts: undefined };
  let accessToken: Secret;
  try {
    // A refresh token without an access token is also a session.
    accessToken = new Secret(accessText ? readPortalToken(accessText, { isToken: true }) : "");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return ignored(`ACCESS_TOKEN in ${place} is not a token`);
  }
  if (refreshText && !VISIBLE_ASCII.test(refreshText)) {
    return ignored(`REFRESH_TOKEN in ${place} is not a token`);
  }
  const claims = readClaims(accessToken.reveal());
  if (refreshText && clientId && claims.clientId && claims.clientId !== clientId) {
    return ignored(`the session in ${place} belongs to an app client other than APP_CLIENT_ID`);
  }
  const learned = learnedIn(read("AUTH_SESSION"));
  if (provider && learned.provider && learned.provider !== provider) {
    return ignored(`the session in ${place} was issued by ${learned.provider}, not by AUTH_URL,`);
  }
  // A missing access token is treated as expired.
  const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
  return {
    parts: {
      accessToken,
      refreshToken: refreshText ? new Secret(refreshText) : undefined,
      expiresAt: accessText ? instant(read("ACCESS_TOKEN_EXPIRES_AT")) ?? claimed : 0,
      authenticatedAt: instant(read("AUTHENTICATED_AT")),
      source,
      learned,
      claims,
    },
  };
}

/**
 * Whether the access token in a `.env` seems to belong to another program: the file contains
 * neither a setting nor a session of this module, and the token lacks the claims of an access token
 * for this module.
 */
export function isOtherPrograms(values: ReadonlyMap<string, string>, settings: Settings): boolean {
  const token = values.get("ACCESS_TOKEN");
  if (!token || TOKEN_KEYS.some((key) => key !== "ACCESS_TOKEN" && values.has(key))) return false;
  const { clientId, tokenUse } = readClaims(token.replace(/^bearer\s+/i, ""));
  if (clientId !== undefined || tokenUse === "access") return false;
  // Other programs also use USERNAME and PASSWORD, so these do not show whose file this is.
  const isCommon = (name: SettingName) => name === "username" || name === "password";
  return SETTING_NAMES.every((name) => isCommon(name) || settings.origin(name) === undefined);
}

/** Returns what a session learned, as the value of one line; `undefined` if it learned nothing. */
function learnedText(tokens: Tokens): string | undefined {
  const { claims, expiresAt, learned: { deviceKey, loginName, provider, refreshVariant } } = tokens;
  const facts = [
    ["provider", provider],
    ["name", loginName !== claims.username ? loginName : undefined],
    ["refresh", refreshVariant !== "username" ? refreshVariant : undefined],
    ["device", tokens.refreshToken && deviceKey?.reveal()],
    // A line with only an access token could come from any program. `expiry:unknown` makes sure
    // that there is also a line AUTH_SESSION, which shows that this module wrote the file.
    ["expiry", tokens.refreshToken || expiresAt ? undefined : "unknown"],
  ].flatMap(([name, value]) => value ? [`${name}:${escaped(value)}`] : []);
  return facts.length === 0 ? undefined : facts.join(",");
}

/** Reads the line that `learnedText()` makes, ignoring unknown facts. */
function learnedIn(line: string | undefined): Learned {
  const facts = new Map(
    (line ?? "").split(",").map((fact) => {
      const at = fact.indexOf(":");
      return [fact.slice(0, at), unescaped(fact.slice(at + 1))];
    }),
  );
  const variant = VARIANTS.find((known) => known === facts.get("refresh"));
  const name = facts.get("name");
  const device = facts.get("device");
  const provider = URL.parse(facts.get("provider") ?? "")?.origin;
  return {
    ...(provider && { provider }),
    ...(variant && { refreshVariant: variant }),
    ...(name && { loginName: name }),
    ...(device && { deviceKey: new Secret(device) }),
  };
}

const VARIANTS: readonly RefreshVariant[] = ["username", "sub", "login", "omit", "rotating"];

/** A single quote cannot be written in a `.env`. */
function escaped(value: string): string {
  return encodeURIComponent(value).replaceAll("'", "%27");
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

function instant(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

function isoText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
