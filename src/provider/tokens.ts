import type { Secret } from "../platform/secret.ts";
import type { Clocks, ClocksAndChance } from "../platform/world.ts";

/** Days after a login in which it can typically be refreshed (section 8): an estimate. */
export const REFRESH_DAYS = 30;

/** Where tokens came from. */
export type TokenSource =
  | "portal"
  | "password"
  | "refresh"
  | "file"
  | "environment"
  | "command"
  | "store";

/**
 * A form of the refresh request: SECRET_HASH made with one of three names, or left out (section 2.1
 * shows both), or the operation of services that rotate refresh tokens.
 */
export type RefreshVariant = "username" | "sub" | "login" | "omit" | "rotating";

/** What a session learned of its account. It is stored with the tokens and goes with them. */
export interface Learned {
  /** The name that the user logged in with, which may be an alias of the token's `username`. */
  readonly loginName?: string | undefined;
  /** The refresh request that the provider accepted. */
  readonly refreshVariant?: RefreshVariant | undefined;
  /** What the provider calls the device that it made of this login: each refresh must name it. */
  readonly deviceKey?: Secret | undefined;
}

/** The tokens of a session, with what is known of their times. Never changed, only replaced. */
export interface Tokens {
  readonly accessToken: Secret;
  readonly refreshToken: Secret | undefined;
  readonly claims: Claims;
  /**
   * When the access token ends by this machine's wall clock, milliseconds since 1970; `undefined`:
   * unknown.
   */
  readonly expiresAt: number | undefined;
  /** When the user logged in, milliseconds since 1970. */
  readonly authenticatedAt: number | undefined;
  readonly source: TokenSource;
  readonly learned: Learned;
  /** How long the access token lives in all, in milliseconds; `undefined`: unknown. */
  readonly lifetimeMs: number | undefined;
  /** How long before its end the token is replaced, in milliseconds. */
  readonly refreshMarginMs: number;
  /** Both clocks when this record was made: what has passed since is the larger of the two. */
  readonly anchor: { readonly now: number; readonly monotonic: number };
}

/** Tokens that can be refreshed. */
export type RenewableTokens = Tokens & { readonly refreshToken: Secret };

/** What a {@linkcode Tokens} record is made of. */
export interface TokenParts {
  accessToken: Secret;
  refreshToken?: Secret | undefined;
  /** Instant, by this machine's wall clock, in milliseconds since 1970. */
  expiresAt?: number | undefined;
  authenticatedAt?: number | undefined;
  /** Lifetime of the access token; default: what its claims say. */
  lifetimeMs?: number | undefined;
  source: TokenSource;
  learned?: Learned;
  /** The claims of the access token, where they were read already. */
  claims?: Claims;
}

/** Makes a record, anchored at the two clocks' present unless an earlier moment is given. */
export function makeTokens(
  parts: TokenParts,
  world: ClocksAndChance,
  anchor = { now: world.now(), monotonic: world.monotonic() },
): Tokens {
  const claims = parts.claims ?? readClaims(parts.accessToken.reveal());
  const lifetimeMs = parts.lifetimeMs ?? claimedLifetimeMs(claims);
  return {
    accessToken: parts.accessToken,
    refreshToken: parts.refreshToken,
    claims,
    expiresAt: parts.expiresAt,
    authenticatedAt: parts.authenticatedAt,
    source: parts.source,
    learned: parts.learned ?? {},
    lifetimeMs,
    refreshMarginMs: refreshMarginOf(
      lifetimeMs ?? (parts.expiresAt ?? anchor.now) - anchor.now,
      world.random(),
    ),
    anchor,
  };
}

/** How long a token lives by its own claims, in milliseconds; `undefined`: they do not tell. */
export function claimedLifetimeMs({ exp, iat }: Claims): number | undefined {
  return exp !== undefined && iat !== undefined ? (exp - iat) * 1_000 : undefined;
}

/**
 * How long before its end a token is replaced: a tenth of its lifetime, at least 15 seconds and at
 * most 5 minutes, but never more than a third of the lifetime. Up to a quarter of it is taken off by
 * chance, so that processes do not refresh at the same moment.
 */
function refreshMarginOf(lifetimeMs: number, chance: number): number {
  const margin = Math.min(Math.max(lifetimeMs * 0.1, 15_000), 300_000, lifetimeMs / 3);
  return Math.max(margin, 0) * (0.75 + chance / 4);
}

/** Milliseconds until the access token ends, below zero afterwards; `undefined`: unknown. */
export function remainingMs(tokens: Tokens, clocks: Clocks): number | undefined {
  if (tokens.expiresAt === undefined) return undefined;
  const wall = clocks.now() - tokens.anchor.now;
  const monotonic = clocks.monotonic() - tokens.anchor.monotonic;
  return tokens.expiresAt - tokens.anchor.now - Math.max(wall, monotonic);
}

/**
 * Whether the access token is good for at least that long. One of unknown expiry is, until the API
 * rejects it.
 */
export function isGoodFor(tokens: Tokens, clocks: Clocks, ms: number): boolean {
  const remaining = remainingMs(tokens, clocks);
  return remaining === undefined || remaining > ms;
}

/** The provider's clock minus this machine's, as tokens tell that were issued when they were asked for. */
export function issuedOffsetMs(tokens: Tokens | undefined): number | undefined {
  const iat = tokens?.claims.iat;
  return tokens === undefined || iat === undefined ? undefined : iat * 1_000 - tokens.anchor.now;
}

/** The account that the token names, as far as it does. */
export function accountOf(claims: Claims): string | undefined {
  return claims.username ?? claims.sub;
}

/** Whether two records hold the same access token. */
export function sameAccess(a: Tokens, b: Tokens): boolean {
  return a.accessToken.reveal() === b.accessToken.reveal();
}

/** Whether a record holds a refresh token. */
export function isRenewable(tokens: Tokens): tokens is RenewableTokens {
  return tokens.refreshToken !== undefined;
}

/** What an access token says of itself, read without checking its signature: to plan with, not to trust. */
export interface Claims {
  /** Issued at, seconds since 1970 by the provider's clock. */
  readonly iat?: number;
  /** Expires at, seconds since 1970 by the provider's clock. */
  readonly exp?: number;
  readonly sub?: string;
  readonly username?: string;
  readonly clientId?: string;
  readonly tokenUse?: string;
  /** What the token may be used for, separated by spaces. */
  readonly scope?: string;
}

/** Reads the claims of a JWT; an opaque or odd token has none, which is not an error. */
export function readClaims(token: string): Claims {
  const parts = token.split(".");
  if (parts.length !== 3) return {};
  let claims: unknown;
  try {
    const bytes = Uint8Array.fromBase64(parts[1] ?? "", { alphabet: "base64url" });
    claims = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
  if (typeof claims !== "object" || claims === null) return {};
  const found = claims as Record<string, unknown>;
  return {
    ...number("iat", found.iat),
    ...number("exp", found.exp),
    ...text("sub", found.sub),
    ...text("username", found.username),
    ...text("clientId", found.client_id),
    ...text("tokenUse", found.token_use),
    ...text("scope", found.scope),
  };
}

/** Instants after the year 9999 do not fit a `Date` that ISO text can tell. */
const LATEST_SECONDS = 253_402_300_799;

function number(name: string, value: unknown): Record<string, number> {
  const usable = typeof value === "number" && value >= 0 && value <= LATEST_SECONDS;
  return usable ? { [name]: value } : {};
}

function text(name: string, value: unknown): Record<string, string> {
  return typeof value === "string" && value !== "" ? { [name]: value } : {};
}
