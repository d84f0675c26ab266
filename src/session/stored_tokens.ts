import type { Fix } from "../errors/advice.ts";
import { SETTING_NAMES, type SettingName } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";
import { parsePortalToken } from "./portal_token.ts";
import { Secret, VISIBLE_ASCII } from "../platform/secret.ts";
import {
  claimedLifetimeMs,
  type Claims,
  type Learned,
  readClaims,
  type RefreshVariant,
  type TokenParts,
  type Tokens,
} from "../provider/tokens.ts";

/** The keys of a `.env` that belong to this module (section 5.5). All of them leave at logout. */
export const TOKEN_KEYS = [
  "ACCESS_TOKEN",
  "REFRESH_TOKEN",
  "ACCESS_TOKEN_EXPIRES_AT",
  "AUTHENTICATED_AT",
  "AUTH_SESSION",
] as const;

/** The lines that keep a session; `undefined` takes a line away. */
export function linesOf(tokens: Tokens | undefined): Map<string, string | undefined> {
  return new Map<string, string | undefined>([
    // A session may be a refresh token alone.
    ["ACCESS_TOKEN", tokens?.accessToken.reveal() || undefined],
    ["REFRESH_TOKEN", tokens?.refreshToken?.reveal()],
    ["ACCESS_TOKEN_EXPIRES_AT", isoText(tokens?.expiresAt || undefined)],
    ["AUTHENTICATED_AT", isoText(tokens?.authenticatedAt)],
    ["AUTH_SESSION", tokens && factsText(tokens)],
  ]);
}

/** What tokens that were kept as text amount to. */
export interface StoredTokens {
  readonly parts: TokenParts | undefined;
  /** Why they are not used. */
  readonly note?: { readonly problem: string; readonly fix: Fix };
}

/**
 * Reads kept tokens.
 *
 * @param read Gives the value of a key.
 * @param clientId The configured client: a refresh token of another one is useless.
 * @param now Wall clock, milliseconds since 1970.
 */
export function readStored(
  read: (key: string) => string | undefined,
  source: "file" | "environment" | "store",
  clientId: string | undefined,
  now: number,
): StoredTokens {
  const place = source === "file" ? "the .env" : `the ${source}`;
  const ignored = (what: string): StoredTokens => ({
    parts: undefined,
    note: {
      problem: `${what} in ${place} is not a token and is ignored`,
      fix: ["run ", { call: "login" }],
    },
  });
  const accessText = read("ACCESS_TOKEN");
  const refreshText = read("REFRESH_TOKEN");
  if (!accessText && !refreshText) return { parts: undefined };
  let accessToken: Secret;
  try {
    // A refresh token alone is a session too: its access token has ended.
    accessToken = new Secret(accessText ? parsePortalToken(accessText) : "");
  } catch {
    return ignored("ACCESS_TOKEN");
  }
  if (refreshText && !VISIBLE_ASCII.test(refreshText)) return ignored("REFRESH_TOKEN");
  const claims = readClaims(accessToken.reveal());
  if (refreshText && clientId && claims.clientId && claims.clientId !== clientId) {
    return {
      parts: undefined,
      note: {
        problem:
          `the tokens in ${place} belong to another app client than APP_CLIENT_ID and are ignored`,
        fix: ["run ", { call: "login" }],
      },
    };
  }
  const { issuedAt, ...learned } = factsOf(read("AUTH_SESSION"));
  const stored = instant(read("ACCESS_TOKEN_EXPIRES_AT"));
  const lifetimeMs = issuedAt !== undefined && stored !== undefined && stored > issuedAt
    ? stored - issuedAt
    : claimedLifetimeMs(claims);
  const end = { stored, claims, lifetimeMs, clockOffsetMs: learned.clockOffsetMs, now };
  return {
    parts: {
      accessToken,
      refreshToken: refreshText ? new Secret(refreshText) : undefined,
      expiresAt: !accessText ? 0 : refreshText ? renewableEnd(end) : finalEnd(end),
      authenticatedAt: instant(read("AUTHENTICATED_AT")),
      lifetimeMs,
      source,
      learned,
      claims,
    },
  };
}

/**
 * Whether an access token of a `.env` is another program's, as far as one can tell: no setting of this
 * module is there, no line of its session, and the token does not say that it is of such a provider.
 */
export function isOtherPrograms(values: ReadonlyMap<string, string>, settings: Settings): boolean {
  const token = values.get("ACCESS_TOKEN");
  if (!token || TOKEN_KEYS.some((key) => key !== "ACCESS_TOKEN" && values.has(key))) return false;
  const { clientId, tokenUse } = readClaims(token.replace(/^bearer\s+/i, ""));
  if (clientId !== undefined || tokenUse === "access") return false;
  // Other programs have a USERNAME and a PASSWORD, too.
  const isCommon = (name: SettingName) => name === "username" || name === "password";
  return SETTING_NAMES.every((name) => isCommon(name) || settings.origin(name) === undefined);
}

/** What is known of the end of a kept access token. */
interface KnownEnd {
  /** The instant that was kept, by this machine's clock as it was then. */
  readonly stored: number | undefined;
  readonly claims: Claims;
  readonly lifetimeMs: number | undefined;
  readonly clockOffsetMs: number | undefined;
  readonly now: number;
}

/** Clocks that differ by less agree. */
const TOLERANCE_MS = 60_000;

/**
 * When a kept token ends that can be refreshed. Where the clocks contradict each other the earlier
 * end counts: that costs a refresh, a dead token costs a rejected call.
 */
function renewableEnd(
  { stored, claims, lifetimeMs, clockOffsetMs, now }: KnownEnd,
): number | undefined {
  const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
  if (stored === undefined) return claimed;
  if (lifetimeMs === undefined) return claimed === undefined ? stored : Math.min(stored, claimed);
  const issued = stored - lifetimeMs;
  // The clock was set back since, so that nobody can tell how much time has passed.
  if (now < issued - TOLERANCE_MS) return now;
  const aheadMs = claims.iat !== undefined ? issued - claims.iat * 1_000 : -(clockOffsetMs ?? 0);
  // The clock was ahead at the login and may have been set right since. A clock that is ahead by more
  // than a lifetime is taken to be so still: its tokens would be of no use otherwise.
  return aheadMs > TOLERANCE_MS && aheadMs < lifetimeMs ? stored - aheadMs : stored;
}

/**
 * When a kept token ends that cannot be refreshed. Here the later end counts, as nothing can take its
 * place. Its own `exp` stands in where the instant belongs to an older token.
 */
function finalEnd({ stored, claims, now }: KnownEnd): number | undefined {
  const { iat, exp } = claims;
  const claimed = exp === undefined ? undefined : exp * 1_000;
  if (stored === undefined) return claimed;
  // If iat lies ahead of this clock, this clock is slow, and the instant fits it.
  const isOlder = iat !== undefined && stored <= iat * 1_000 && iat * 1_000 <= now + TOLERANCE_MS;
  if (isOlder) return claimed ?? stored;
  if (claimed === undefined) return stored;
  // Longer than the token ever lives: the clock was set back since.
  const latest = iat === undefined ? Infinity : now + claimed - iat * 1_000;
  return Math.min(Math.max(stored, claimed), latest);
}

/** What a session learned, as the value of one line; `undefined` where there is nothing to tell. */
function factsText(tokens: Tokens): string | undefined {
  const { claims, expiresAt, learned, lifetimeMs } = tokens;
  const { clockOffsetMs = 0, deviceKey, loginName, refreshVariant } = learned;
  // Only what the token does not tell by itself.
  const issuedAt = expiresAt && lifetimeMs !== undefined &&
      Math.abs((claimedLifetimeMs(claims) ?? 0) - lifetimeMs) > 1_000
    ? expiresAt - lifetimeMs
    : undefined;
  const offset = claims.iat === undefined && Math.abs(clockOffsetMs) > TOLERANCE_MS
    ? String(Math.round(clockOffsetMs))
    : undefined;
  const facts = [
    ["issued", tokens.refreshToken && isoText(issuedAt)],
    ["offset", tokens.refreshToken && offset],
    ["name", loginName !== claims.username ? loginName : undefined],
    ["refresh", refreshVariant !== "username" ? refreshVariant : undefined],
    ["device", tokens.refreshToken && deviceKey?.reveal()],
    // An access token by itself could be any program's.
    ["expiry", tokens.refreshToken || expiresAt ? undefined : "unknown"],
  ].flatMap(([name, value]) => value ? [`${name}:${escaped(value)}`] : []);
  return facts.length === 0 ? undefined : facts.join(",");
}

/** Reads the line; what it does not understand it passes over. */
function factsOf(line: string | undefined): Learned & { issuedAt?: number | undefined } {
  const facts = new Map(
    (line ?? "").split(",").map((fact) => {
      const at = fact.indexOf(":");
      return [fact.slice(0, at), unescaped(fact.slice(at + 1))];
    }),
  );
  const variant = VARIANTS.find((known) => known === facts.get("refresh"));
  const offset = Number(facts.get("offset"));
  const issuedAt = instant(facts.get("issued"));
  const name = facts.get("name");
  const device = facts.get("device");
  return {
    ...(variant && { refreshVariant: variant }),
    ...(offset && { clockOffsetMs: offset }),
    ...(issuedAt !== undefined && { issuedAt }),
    ...(name && { loginName: name }),
    ...(device && { deviceKey: new Secret(device) }),
  };
}

const VARIANTS: readonly RefreshVariant[] = ["username", "sub", "login", "omit", "rotating"];

/** Leaves only characters that every reader of a `.env` takes without quotes. */
function escaped(value: string): string {
  return encodeURIComponent(value).replace(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  ).replaceAll("%3A", ":");
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
