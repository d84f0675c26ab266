import { type Claims, readClaims } from "./claims.ts";
import type { Secret } from "./secret.ts";
import type { World } from "../runtime/world.ts";

/** Days after a login in which it can typically be refreshed (section 8): an estimate. */
export const REFRESH_DAYS = 30;

/** Where tokens came from. */
export type TokenSource = "portal" | "password" | "refresh" | "file" | "environment";

/** The tokens of a session, with what is known of their times. Never changed, only replaced. */
export interface Tokens {
  readonly accessToken: Secret;
  readonly refreshToken: Secret | undefined;
  readonly claims: Claims;
  /** When the access token ends by this machine's wall clock, milliseconds since 1970; `undefined`: unknown. */
  readonly expiresAt: number | undefined;
  /** When the user logged in, milliseconds since 1970. */
  readonly authenticatedAt: number | undefined;
  readonly source: TokenSource;
  /** How long before its end the token is replaced, in milliseconds. */
  readonly leadMs: number;
  /** Both clocks when this record was made: what has passed since is the larger of the two. */
  readonly anchor: { readonly now: number; readonly monotonic: number };
}

/** What a {@linkcode Tokens} record is made of. */
export interface TokenParts {
  accessToken: Secret;
  refreshToken?: Secret | undefined;
  /** Instant, by this machine's wall clock, in milliseconds since 1970. */
  expiresAt?: number | undefined;
  authenticatedAt?: number | undefined;
  /** Lifetime of a new access token; default: what its claims say. */
  lifetimeMs?: number | undefined;
  source: TokenSource;
}

/** Makes a record, anchored at the two clocks' present unless an earlier moment is given. */
export function makeTokens(
  parts: TokenParts,
  world: World,
  anchor = { now: world.now(), monotonic: world.monotonic() },
): Tokens {
  const claims = readClaims(parts.accessToken.reveal());
  const { exp, iat } = claims;
  const claimedMs = exp !== undefined && iat !== undefined ? (exp - iat) * 1_000 : undefined;
  const lifetimeMs = parts.lifetimeMs ?? claimedMs;
  return {
    accessToken: parts.accessToken,
    refreshToken: parts.refreshToken,
    claims,
    expiresAt: parts.expiresAt,
    authenticatedAt: parts.authenticatedAt,
    source: parts.source,
    leadMs: leadOf(lifetimeMs ?? (parts.expiresAt ?? anchor.now) - anchor.now),
    anchor,
  };
}

/**
 * A tenth of the lifetime, at least 15 seconds and at most 5 minutes, but never more than a third of
 * the lifetime; up to a quarter of it is taken off by chance, so that processes do not refresh as one.
 */
function leadOf(lifetimeMs: number): number {
  const lead = Math.min(Math.max(lifetimeMs * 0.1, 15_000), 300_000, lifetimeMs / 3);
  return Math.max(lead, 0) * (0.75 + Math.random() / 4);
}

/** Milliseconds until the access token ends, below zero afterwards; `undefined`: unknown. */
export function remainingMs(tokens: Tokens, world: World): number | undefined {
  if (tokens.expiresAt === undefined) return undefined;
  const wall = world.now() - tokens.anchor.now;
  const monotonic = world.monotonic() - tokens.anchor.monotonic;
  return tokens.expiresAt - tokens.anchor.now - Math.max(wall, monotonic);
}

/** Whether the access token is good for at least that long. One that tells no end is, until the API says no. */
export function isGoodFor(tokens: Tokens, world: World, ms: number): boolean {
  const remaining = remainingMs(tokens, world);
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
