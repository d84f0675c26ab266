/**
 * The state of a session, and every way in which the state changes. The functions in this file are
 * pure: they read no file, no clock and no setting.
 */
import type { SessionExpiredErrorCode } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { isRenewable, type RenewableTokens, sameAccess, type Tokens } from "../provider/tokens.ts";

/** The reason why a session ended, which later calls report. */
export interface Ending {
  readonly code: SessionExpiredErrorCode;
  readonly problem: string;
  readonly fix: Fix;
}

export type SessionState =
  | { readonly kind: "none"; readonly because?: Ending }
  /**
   * An access token from the portal, or an access token that is still valid after the refresh token
   * was refused.
   */
  | {
    readonly kind: "access-only";
    readonly tokens: Tokens;
    /** Whether the API's latest response to the access token was a 401. */
    readonly rejected: boolean;
    readonly because?: Ending;
  }
  | { readonly kind: "renewable"; readonly tokens: RenewableTokens; readonly rejected: boolean };

export type SessionEvent =
  /** A login, or a token from the option `token`. */
  | { readonly kind: "login"; readonly tokens: Tokens }
  | { readonly kind: "logout" }
  /** Another process wrote to the store. */
  | { readonly kind: "written elsewhere"; readonly tokens: Tokens | undefined }
  | { readonly kind: "refreshed"; readonly tokens: Tokens }
  /**
   * The provider refused the refresh token for good. Applied once more if the API later rejects the
   * access token that was kept.
   */
  | {
    readonly kind: "refused";
    readonly held: Tokens;
    readonly because: Ending;
    /** Whether the access token is still valid. */
    readonly isValid: boolean;
  }
  /** The API's latest response to these tokens: a 401, or a success. */
  | { readonly kind: "rejected" | "accepted"; readonly tokens: Tokens };

/** Why a session has ended after `logout()`. */
export const LOGGED_OUT: Ending = {
  code: "NO_SESSION",
  problem: "There is no session: logout() ended it",
  fix: ["run ", { call: "login" }],
};

/** Returns the state after an event; the same object if nothing changed. */
export function next(now: SessionState, event: SessionEvent): SessionState {
  switch (event.kind) {
    case "login":
    case "refreshed":
      return stateOf(event.tokens);
    case "logout":
      return { kind: "none", because: LOGGED_OUT };
    case "written elsewhere":
      // The last writer wins, regardless of the timestamps in the tokens.
      if (event.tokens !== undefined) {
        const isSame = now.kind !== "none" && sameAccess(now.tokens, event.tokens);
        return stateOf(event.tokens, isSame && now.rejected);
      }
      return now.kind === "none" ? now : { kind: "none" };
    case "refused": {
      const { held, because, isValid } = event;
      if (now.kind === "none" || !sameRefresh(now.tokens, held)) return now;
      // An access token that the API rejected is removed, too, because the next process would
      // consider it valid.
      if (!isValid || now.rejected) return { kind: "none", because };
      // Only the refresh token was refused, so the access token is kept until it expires.
      const tokens = { ...now.tokens, refreshToken: undefined, authenticatedAt: undefined };
      return { kind: "access-only", tokens, rejected: now.rejected, because };
    }
    case "rejected":
    case "accepted": {
      if (now.kind === "none" || !sameAccess(now.tokens, event.tokens)) return now;
      const rejected = event.kind === "rejected";
      return now.rejected === rejected ? now : { ...now, rejected };
    }
  }
}

export function stateOf(tokens: Tokens | undefined, rejected = false): SessionState {
  if (tokens === undefined) return { kind: "none" };
  return isRenewable(tokens)
    ? { kind: "renewable", tokens, rejected }
    : { kind: "access-only", tokens, rejected };
}

export function tokensOf(state: SessionState): Tokens | undefined {
  return state.kind === "none" ? undefined : state.tokens;
}

export function sameRefresh(a: Tokens, b: Tokens): boolean {
  return a.refreshToken?.reveal() === b.refreshToken?.reveal();
}

/** Whether there is no session, or only an access token whose refresh token was refused. */
export function isOver(state: SessionState): boolean {
  return state.kind === "none" || (state.kind === "access-only" && state.because !== undefined);
}
