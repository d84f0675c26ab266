import { type AuthError, SessionExpiredError } from "../errors/errors.ts";
import type { Secret } from "../platform/secret.ts";
import type { Clocks } from "../platform/world.ts";
import { isGoodFor, type Tokens } from "../provider/tokens.ts";
import { spanText } from "../errors/amounts.ts";
import { portalName } from "./portal_token.ts";
import type { SessionState } from "./state.ts";

/** What a call that needs a token does. */
export type Plan =
  | { readonly kind: "use"; readonly tokens: Tokens }
  /** The token is still good; a refresh that fails is no reason to fail. */
  | { readonly kind: "refresh-early" }
  | { readonly kind: "refresh" }
  | { readonly kind: "fail" };

/** An early refresh must not keep a call waiting for long: its token is still good. */
export const EARLY_DEADLINE_MS = 10_000;

/** What a call whose token is good waits for a store that does not answer. */
export const STORE_WAIT_WITH_VALID_TOKEN_MS = 250;

/** How much of its time a session asks a store again that does not answer: the rest is for the provider. */
export const STORE_ANSWER_SHARE = 0.25;

/** For how long calls go on without another refresh after one that failed or did not help. */
const COOLDOWN_MS = 30_000;

/**
 * Until when not to refresh, by the monotonic clock, so that a provider or an API in trouble is not
 * asked at every call.
 */
export interface Cooldowns {
  /** After an early refresh that failed. */
  readonly earlyUntil: number;
  /** After a 401 that a refresh was made for, until the API shows that it helped. */
  readonly rejectionUntil: number;
  /** The access token for which that refresh was made: there is one for each token. */
  readonly replaced: Secret | undefined;
}

export const NO_COOLDOWNS: Cooldowns = {
  earlyUntil: -Infinity,
  rejectionUntil: -Infinity,
  replaced: undefined,
};

/** An early refresh failed; its token is still good. */
export function afterEarlyFailure(cooldowns: Cooldowns, clocks: Clocks): Cooldowns {
  return { ...cooldowns, earlyUntil: clocks.monotonic() + COOLDOWN_MS };
}

/** A refresh is made because the API rejected this token. */
export function afterReplacement(
  rejected: Secret,
  cooldowns: Cooldowns,
  clocks: Clocks,
): Cooldowns {
  return { ...cooldowns, rejectionUntil: clocks.monotonic() + COOLDOWN_MS, replaced: rejected };
}

/** The API accepted the tokens that took the place of rejected ones. */
export function afterHelp(cooldowns: Cooldowns): Cooldowns {
  return { ...cooldowns, rejectionUntil: -Infinity };
}

/** Whether a refresh may be made for a token that the API rejected. */
export function mayReplace(rejected: Secret, cooldowns: Cooldowns, clocks: Clocks): boolean {
  return cooldowns.replaced?.reveal() !== rejected.reveal() &&
    clocks.monotonic() >= cooldowns.rejectionUntil;
}

/** Whether the access token needs no attention: it is not yet time to replace it. */
export function isFresh(tokens: Tokens, clocks: Clocks, minValidMs = 0): boolean {
  return isGoodFor(tokens, clocks, Math.max(minValidMs, tokens.refreshMarginMs));
}

/**
 * @param minValidMs How long the access token must still be good.
 * @param isByCommand Whether a command gives tokens at any time, but after a logout.
 */
export function planFor(
  state: SessionState,
  clocks: Clocks,
  cooldowns: Cooldowns,
  minValidMs: number,
  isByCommand = false,
): Plan {
  if (state.kind === "none") {
    return { kind: isByCommand && state.because === undefined ? "refresh" : "fail" };
  }
  const { tokens } = state;
  if (isFresh(tokens, clocks, minValidMs)) return { kind: "use", tokens };
  const isGood = isGoodFor(tokens, clocks, 0);
  if (state.kind === "access-only" && !isByCommand) {
    return isGood ? { kind: "use", tokens } : { kind: "fail" };
  }
  const coolsDown = clocks.monotonic() < cooldowns.earlyUntil;
  if (coolsDown && isGoodFor(tokens, clocks, minValidMs)) return { kind: "use", tokens };
  return { kind: isGood ? "refresh-early" : "refresh" };
}

/**
 * The error of a call that finds no token it can use or refresh.
 *
 * @param note Why there is no session, where the session was never there.
 * @param portalUrl The address of the portal, where it is known.
 */
export function whyNot(
  state: SessionState,
  clocks: Clocks,
  note: string | undefined,
  portalUrl: string | undefined,
): AuthError {
  if (state.kind !== "renewable" && state.because) {
    const { code, problem, fix } = state.because;
    return new SessionExpiredError(code, problem, fix);
  }
  if (state.kind === "none") {
    return new SessionExpiredError(
      "NO_SESSION",
      `There is no session${note ? ` (${note})` : ""}`,
      ["run ", { call: "login" }, " first"],
    );
  }
  const { expiresAt, source } = state.tokens;
  return new SessionExpiredError(
    "CANNOT_REFRESH",
    `Cannot refresh the session: there is no refresh token, and the access token ${
      expiryText(expiresAt, clocks.now())
    }`,
    source === "portal"
      ? [
        `choose "Copy Token" in ${portalName(portalUrl)} and run `,
        { call: "login", options: { strategy: "portal" } },
      ]
      : ["run ", { call: "login", options: { force: true } }],
  );
}

function expiryText(expiresAt: number | undefined, now: number): string {
  if (expiresAt === undefined) return "has an unknown expiry";
  const span = spanText(Math.abs(now - expiresAt));
  return now < expiresAt ? `expires in ${span}` : `expired ${span} ago`;
}
