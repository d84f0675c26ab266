import { readClaims, type TokenParts, type Tokens } from "./tokens.ts";
import { parsePortalToken } from "./portal_token.ts";
import { Secret } from "./secret.ts";

/** The keys that this module writes to a `.env` (section 5.5). */
export const TOKEN_KEYS = [
  "ACCESS_TOKEN",
  "REFRESH_TOKEN",
  "ACCESS_TOKEN_EXPIRES_AT",
  "AUTHENTICATED_AT",
] as const;

/** The lines that keep a session; `undefined` takes a line away. */
export function linesOf(tokens: Tokens | undefined): Map<string, string | undefined> {
  return new Map<string, string | undefined>([
    // A session may be a refresh token alone.
    ["ACCESS_TOKEN", tokens?.accessToken.reveal() || undefined],
    ["REFRESH_TOKEN", tokens?.refreshToken?.reveal()],
    ["ACCESS_TOKEN_EXPIRES_AT", isoText(tokens?.expiresAt || undefined)],
    ["AUTHENTICATED_AT", isoText(tokens?.authenticatedAt)],
  ]);
}

/** Tells whether the stored tokens are still those that were stored, without keeping them as text. */
export function fingerprint(values: ReadonlyMap<string, string>): Secret {
  return new Secret(`${values.get("ACCESS_TOKEN") ?? ""}\n${values.get("REFRESH_TOKEN") ?? ""}`);
}

/** What tokens that were kept as text amount to. */
export interface StoredTokens {
  readonly parts: TokenParts | undefined;
  /** Why they are not used. */
  readonly note?: string;
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
  source: "file" | "environment",
  clientId: string | undefined,
  now: number,
): StoredTokens {
  const place = source === "file" ? "the .env" : "the environment";
  const accessText = read("ACCESS_TOKEN");
  const refreshText = read("REFRESH_TOKEN");
  if (!accessText && !refreshText) return { parts: undefined };
  let accessToken: Secret;
  try {
    // A refresh token alone is a session too: its access token has ended.
    accessToken = new Secret(accessText ? parsePortalToken(accessText) : "");
  } catch {
    return {
      parts: undefined,
      note: `ACCESS_TOKEN in ${place} is not a token and is ignored; run login()`,
    };
  }
  if (refreshText && !/^[\x21-\x7e]+$/.test(refreshText)) {
    return {
      parts: undefined,
      note: `REFRESH_TOKEN in ${place} is not a token and is ignored; run login()`,
    };
  }
  const claims = readClaims(accessToken.reveal());
  if (refreshText && clientId && claims.clientId && claims.clientId !== clientId) {
    return {
      parts: undefined,
      note:
        `the tokens in ${place} belong to another app client than APP_CLIENT_ID and are ignored; ` +
        "run login()",
    };
  }
  const refreshToken = refreshText ? new Secret(refreshText) : undefined;
  return {
    parts: {
      accessToken,
      refreshToken,
      expiresAt: accessText
        ? storedEnd(
          instant(read("ACCESS_TOKEN_EXPIRES_AT")),
          claims,
          refreshText !== undefined,
          now,
        )
        : 0,
      authenticatedAt: instant(read("AUTHENTICATED_AT")),
      source,
    },
  };
}

/**
 * When a kept token ends. The stored instant was made with this machine's clock and fits it even if
 * that clock is wrong; the token's own `exp` stands in where the instant belongs to an older token.
 */
function storedEnd(
  stored: number | undefined,
  claims: { iat?: number; exp?: number },
  refreshable: boolean,
  now: number,
): number | undefined {
  const { iat, exp } = claims;
  const claimed = exp === undefined ? undefined : exp * 1_000;
  // A token that seems to come from the future is one of a clock that is behind: the instant fits it.
  const replaced = stored !== undefined && iat !== undefined && stored <= iat * 1_000 &&
    iat * 1_000 <= now + 60_000;
  if (stored === undefined) return claimed;
  if (replaced && !refreshable) return claimed ?? stored;
  if (claimed === undefined) return stored;
  // Longer than the token ever lives: the clock was set back since.
  const latest = iat === undefined ? Infinity : now + claimed - iat * 1_000;
  return Math.min(refreshable ? stored : Math.max(stored, claimed), latest);
}

function instant(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

function isoText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
