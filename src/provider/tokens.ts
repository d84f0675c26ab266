import { type Claims, readClaims } from "../platform/claims.ts";
import type { Secret } from "../platform/secret.ts";
import type { Clocks, World } from "../platform/world.ts";

/** Estimated number of days for which a login can be refreshed (section 8). */
export const REFRESH_DAYS = 30;

/** The source of the tokens. */
export type TokenSource =
  | "portal"
  | "password"
  | "refresh"
  | "file"
  | "environment"
  | "token"
  | "store";

/**
 * A form of the refresh request: with the SECRET_HASH of one of three names, without SECRET_HASH
 * (section 2.1 shows both forms), or with the operation of services that rotate refresh tokens.
 */
export type RefreshVariant = "username" | "sub" | "login" | "omit" | "rotating";

/**
 * Facts that a session learned about its account. They are stored and removed together with the
 * tokens.
 */
export interface Learned {
  /** Origin of the provider that issued the tokens. No other provider may receive them. */
  readonly provider?: string | undefined;
  /** The name that the user logged in with, which may be an alias of the token's `username`. */
  readonly loginName?: string | undefined;
  /** The form of the refresh request that the provider accepted. */
  readonly refreshVariant?: RefreshVariant | undefined;
  /** The provider's name for the device of this login, which each refresh must contain. */
  readonly deviceKey?: Secret | undefined;
}

/** The tokens of a session and their times. A record is never changed, only replaced. */
export interface Tokens {
  readonly accessToken: Secret;
  readonly refreshToken: Secret | undefined;
  readonly claims: Claims;
  /** Expiry of the access token by this machine's wall clock, milliseconds since 1970, if known. */
  readonly expiresAt: number | undefined;
  /** Time of the login, in milliseconds since 1970. */
  readonly authenticatedAt: number | undefined;
  readonly source: TokenSource;
  readonly learned: Learned;
  /** Lifetime of the access token in milliseconds, if known. */
  readonly lifetimeMs: number | undefined;
  /** How long before its expiry the access token is refreshed, in milliseconds. */
  readonly refreshMarginMs: number;
  /**
   * The times of both clocks when this record was made. The time that has passed since then is the
   * larger of the two differences.
   */
  readonly anchor: { readonly now: number; readonly monotonic: number };
}

/** Tokens that can be refreshed. */
export type RenewableTokens = Tokens & { readonly refreshToken: Secret };

/** The claims and the lifetime are read from the access token unless they are given. */
export type TokenParts = Pick<Tokens, "accessToken" | "source"> & Partial<Tokens>;

/**
 * Makes a record, anchored at the present time of both clocks unless an earlier anchor is given.
 */
export function makeTokens(
  parts: TokenParts,
  world: Clocks & Pick<World, "random">,
  anchor = { now: world.now(), monotonic: world.monotonic() },
): Tokens {
  const { claims = readClaims(parts.accessToken.reveal()) } = parts;
  const { lifetimeMs = claimedLifetimeMs(claims), expiresAt } = parts;
  const lastsMs = lifetimeMs ?? (expiresAt ?? anchor.now) - anchor.now;
  return {
    refreshToken: undefined,
    authenticatedAt: undefined,
    learned: {},
    ...parts,
    claims,
    expiresAt,
    lifetimeMs,
    refreshMarginMs: refreshMarginOf(lastsMs, world.random()),
    anchor,
  };
}

/** The lifetime that a token claims, in milliseconds. */
export function claimedLifetimeMs({ exp, iat }: Claims): number | undefined {
  return exp !== undefined && iat !== undefined && exp > iat ? (exp - iat) * 1_000 : undefined;
}

/**
 * Computes how long before its expiry a token is refreshed: a tenth of the lifetime, at least 15
 * seconds and at most 5 minutes, but never more than a third of the lifetime. A random part of up
 * to a quarter is subtracted, so that processes do not refresh at the same moment.
 */
function refreshMarginOf(lifetimeMs: number, chance: number): number {
  const margin = Math.min(Math.max(lifetimeMs * 0.1, 15_000), 300_000, lifetimeMs / 3);
  return Math.max(margin, 0) * (0.75 + chance / 4);
}

/**
 * Milliseconds until the access token expires, negative afterwards; `undefined` if the expiry is
 * unknown.
 */
export function remainingMs(tokens: Tokens, clocks: Clocks): number | undefined {
  if (tokens.expiresAt === undefined) return undefined;
  const wall = clocks.now() - tokens.anchor.now;
  const monotonic = clocks.monotonic() - tokens.anchor.monotonic;
  return tokens.expiresAt - tokens.anchor.now - Math.max(wall, monotonic);
}

/**
 * Whether the access token remains valid for `ms` milliseconds. A token with an unknown expiry is
 * considered valid until the API rejects it.
 */
export function isGoodFor(tokens: Tokens, clocks: Clocks, ms: number): boolean {
  const remaining = remainingMs(tokens, clocks);
  return remaining === undefined || remaining > ms;
}

/** Whether two records have the same access token. */
export function sameAccess(a: Tokens, b: Tokens): boolean {
  return a.accessToken.reveal() === b.accessToken.reveal();
}

/** Whether a record has a refresh token. */
export function isRenewable(tokens: Tokens): tokens is RenewableTokens {
  return tokens.refreshToken !== undefined;
}
