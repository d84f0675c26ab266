import type { Secret } from "../platform/secret.ts";
import type { Clocks } from "../platform/world.ts";
import { isGoodFor, type Tokens } from "../provider/tokens.ts";
import type { SessionState } from "./state.ts";

/** The next step of a call that needs a token. */
export type Plan =
  | { readonly kind: "use"; readonly tokens: Tokens }
  /** The token is still valid, so the call succeeds even if the early refresh fails. */
  | { readonly kind: "refresh-early" }
  | { readonly kind: "refresh" }
  | { readonly kind: "fail" };

/** Time limit of an early refresh. The call's token is still valid, so the limit is short. */
export const EARLY_DEADLINE_MS = 10_000;

/**
 * The share of a call's time limit that may be spent waiting for the lock or an unreachable store.
 * The rest is left for the provider.
 */
export const LOCK_WAIT_SHARE = 0.75;

/** Pause after an early refresh that failed, or after a refresh caused by a 401. */
const COOLDOWN_MS = 30_000;

/**
 * The pauses between refreshes, so that not every call sends a request. Each lasts until a time on
 * the monotonic clock. A token that has expired is refreshed during a pause, too.
 */
export interface Cooldowns {
  /** Set after an early refresh failed. */
  readonly earlyUntil: number;
  /** Set after a refresh that was caused by a 401, until the API accepts the new token. */
  readonly rejectionUntil: number;
  /** The access token that was replaced after a 401. No token is replaced twice. */
  readonly replaced: Secret | undefined;
}

export const NO_COOLDOWNS: Cooldowns = {
  earlyUntil: -Infinity,
  rejectionUntil: -Infinity,
  replaced: undefined,
};

export function afterEarlyFailure(cooldowns: Cooldowns, clocks: Clocks): Cooldowns {
  return { ...cooldowns, earlyUntil: clocks.monotonic() + COOLDOWN_MS };
}

/** Starts the pause after a refresh for a token that the API rejected. */
export function afterReplacement(
  rejected: Secret,
  cooldowns: Cooldowns,
  clocks: Clocks,
): Cooldowns {
  return { ...cooldowns, rejectionUntil: clocks.monotonic() + COOLDOWN_MS, replaced: rejected };
}

/** Ends the pause of `afterReplacement()`: the API has accepted the new tokens. */
export function afterHelp(cooldowns: Cooldowns): Cooldowns {
  return { ...cooldowns, rejectionUntil: -Infinity };
}

/** Whether a refresh may be made for a token that the API rejected. */
export function mayReplace(rejected: Secret, cooldowns: Cooldowns, clocks: Clocks): boolean {
  return cooldowns.replaced?.reveal() !== rejected.reveal() &&
    clocks.monotonic() >= cooldowns.rejectionUntil;
}

/** Whether the access token does not need to be replaced yet. */
export function isFresh(tokens: Tokens, clocks: Clocks, minValidMs = 0): boolean {
  const wantedMs = offeredMs(tokens, minValidMs);
  return isGoodFor(tokens, clocks, Math.max(wantedMs, tokens.refreshMarginMs));
}

/**
 * Limits the requested validity to that of a new token, because a higher value would make every
 * call refresh. The margin is subtracted, because a new token would otherwise be too old after a
 * moment.
 */
export function offeredMs({ lifetimeMs, refreshMarginMs }: Tokens, wantedMs: number): number {
  if (wantedMs === 0 || lifetimeMs === undefined) return wantedMs;
  return Math.min(wantedMs, lifetimeMs - refreshMarginMs);
}

/**
 * @param minValidMs Time for which the access token must remain valid.
 * @param isLent Whether the option `token` lends the tokens. After a logout, it lends none.
 */
export function planFor(
  state: SessionState,
  clocks: Clocks,
  cooldowns: Cooldowns,
  minValidMs: number,
  isLent = false,
): Plan {
  if (state.kind === "none") {
    return { kind: isLent && state.because === undefined ? "refresh" : "fail" };
  }
  const { tokens } = state;
  if (isFresh(tokens, clocks, minValidMs)) return { kind: "use", tokens };
  const isValid = isGoodFor(tokens, clocks, 0);
  if (state.kind === "access-only" && !isLent) {
    return isValid ? { kind: "use", tokens } : { kind: "fail" };
  }
  const coolsDown = clocks.monotonic() < cooldowns.earlyUntil;
  // The option `token` decides how long its tokens are valid, so calling it again would not help.
  const neededMs = isLent ? 0 : offeredMs(tokens, minValidMs);
  if (coolsDown && isGoodFor(tokens, clocks, neededMs)) return { kind: "use", tokens };
  return { kind: isValid ? "refresh-early" : "refresh" };
}
