import { ConfigError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { ENV_FILE_VARIABLE, SETTING_NAMES, type SettingName } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";
import { readPortalToken } from "./portal_token.ts";
import { Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import { readClaims } from "../platform/claims.ts";
import { checksum } from "../files/checksum.ts";
import { isNamedIn } from "./whose.ts";
import type { Lines } from "./vaults/vault.ts";
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

/** The lines that store a session; none if there is no session. */
export function linesOf(tokens: Tokens | undefined): Lines {
  return presentLines({
    // A session may consist of a refresh token alone.
    ACCESS_TOKEN: tokens?.accessToken.reveal() || undefined,
    REFRESH_TOKEN: tokens?.refreshToken?.reveal(),
    ACCESS_TOKEN_EXPIRES_AT: isoText(tokens?.expiresAt || undefined),
    AUTHENTICATED_AT: isoText(tokens?.authenticatedAt),
    AUTH_SESSION: tokens && learnedText(tokens),
  });
}

/** Returns only the lines that store a session. */
export function linesIn(read: (key: string) => string | undefined): Lines {
  return presentLines(Object.fromEntries(TOKEN_KEYS.map((key) => [key, read(key)])));
}

/**
 * The line REFUSED of a record in a store. It shows that the refresh token was refused, and that
 * nobody logged out. A process that used this refresh token, and whose lock has expired, may still
 * save the new tokens.
 */
export function refusalOf(refreshToken: string): string {
  return checksum(refreshToken);
}

/** Whether the lines say that the refresh token in the other lines was refused. */
export function isRefusalOf(lines: Lines, { REFRESH_TOKEN }: Lines): boolean {
  return REFRESH_TOKEN !== undefined && lines.REFUSED === refusalOf(REFRESH_TOKEN);
}

/**
 * The lines as text. Equal lines have equal text, even if a store returns them in another order.
 */
export function textOf(lines: Lines): Secret {
  return new Secret(JSON.stringify(Object.entries(lines).sort()));
}

export function sameLines(a: Lines, b: Lines): boolean {
  return textOf(a).reveal() === textOf(b).reveal();
}

function presentLines(lines: Readonly<Record<string, string | undefined>>): Lines {
  return Object.fromEntries(
    Object.entries(lines).flatMap(([key, value]) => value === undefined ? [] : [[key, value]]),
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
 * @param issuer The configured client and provider. A refresh token of another client is useless,
 * and tokens of another provider must not be sent to this provider.
 * @param names The names of the user to whom the tokens must belong; absent if they may belong to
 * anyone.
 */
export function readStored(
  lines: Lines,
  source: "file" | "environment" | "store",
  { clientId, provider }: Issuer,
  names?: readonly string[],
): StoredTokens {
  const place = source === "file" ? "the .env" : `the ${source}`;
  const ignored = (problem: string, otherwise = ""): StoredTokens => ({
    parts: undefined,
    note: { problem: `${problem} and is ignored`, fix: ["run ", { call: "login" }, otherwise] },
  });
  const { ACCESS_TOKEN: accessText, REFRESH_TOKEN: refreshText } = lines;
  if (!accessText && !refreshText) {
    const isEnded = Object.keys(lines).length === 0 || lines.REFUSED !== undefined;
    if (source !== "store" || isEnded) return { parts: undefined };
    return ignored(
      "the session in the store does not fit this AUTH_STORE_KEY or this version of the module",
      ", or set the same key on all machines",
    );
  }
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
  const learned = learnedIn(lines.AUTH_SESSION);
  if (provider && learned.provider && learned.provider !== provider) {
    return ignored(`the session in ${place} was issued by ${learned.provider}, not by AUTH_URL,`);
  }
  // Only the token itself shows whose session this is: a stranger can also write AUTH_SESSION.
  if (names && !names.some((name) => isNamedIn(claims, name))) {
    return ignored(
      `the session in ${place} may belong to another user than the one in USERNAME`,
      `; if the session is yours, set ${ENV_FILE_VARIABLE} to the file`,
    );
  }
  // A missing access token is treated as expired.
  const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
  return {
    parts: {
      accessToken,
      refreshToken: refreshText ? new Secret(refreshText) : undefined,
      expiresAt: accessText ? instant(lines.ACCESS_TOKEN_EXPIRES_AT) ?? claimed : 0,
      authenticatedAt: instant(lines.AUTHENTICATED_AT),
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
export function isOtherPrograms(lines: Lines, settings: Settings): boolean {
  const { ACCESS_TOKEN: token, ...others } = lines;
  if (!token || Object.keys(others).length > 0) return false;
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
