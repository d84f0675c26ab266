/**
 * What a session holds, and every way in which that changes. Pure functions over values: nothing here
 * reads a file, a clock or a setting.
 */
import type { SessionExpiredErrorCode } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { isRenewable, type RenewableTokens, sameAccess, type Tokens } from "../provider/tokens.ts";

/** Why a session can no longer be used, for the calls that come after. */
export interface Ending {
  readonly code: SessionExpiredErrorCode;
  readonly problem: string;
  readonly fix: Fix;
}

/**
 * The state of a session. The transitions:
 *
 * | event                               | function         | outcome                                            |
 * | ----------------------------------- | ---------------- | -------------------------------------------------- |
 * | login, or tokens found at first use | `stateOf`        | what the tokens allow                              |
 * | logout                              | `signedOut`      | nothing                                            |
 * | a refresh brought tokens            | `afterRefresh`   | these, unless another process wrote others         |
 * | a refresh was refused for good      | `afterRefusal`   | a good access token alone, else nothing            |
 * | another process wrote to the store  | `afterChange`    | what it wrote                                      |
 * | the API answered 401                | `afterRejection` | the same tokens, known to be rejected              |
 */
export type SessionState =
  | { readonly kind: "none"; readonly because?: Ending }
  /** From the portal, or left over when the refresh token died. */
  | {
    readonly kind: "access-only";
    readonly tokens: Tokens;
    readonly rejected: boolean;
    readonly because?: Ending;
  }
  | { readonly kind: "renewable"; readonly tokens: RenewableTokens; readonly rejected: boolean };

export const SIGNED_OUT: SessionState = { kind: "none" };

const COMMAND_STOPPED: SessionState = {
  kind: "none",
  because: {
    code: "NO_SESSION",
    problem: "There is no session: logout() ended it",
    fix: ["run ", { call: "login" }],
  },
};

/** After a logout a command that gives tokens is not run by a call. */
export function signedOut(isByCommand: boolean): SessionState {
  return isByCommand ? COMMAND_STOPPED : SIGNED_OUT;
}

/** What tokens amount to. */
export function stateOf(tokens: Tokens | undefined): SessionState {
  if (tokens === undefined) return SIGNED_OUT;
  return isRenewable(tokens)
    ? { kind: "renewable", tokens, rejected: false }
    : { kind: "access-only", tokens, rejected: false };
}

/** The tokens held, if any. */
export function tokensOf(state: SessionState): Tokens | undefined {
  return state.kind === "none" ? undefined : state.tokens;
}

/** Another process wrote later than this one, so what it wrote counts, whatever the times in its tokens. */
export function afterChange(
  now: SessionState,
  written: Tokens | undefined,
  because: Ending,
): SessionState {
  if (written !== undefined) return stateOf(written);
  return now.kind === "none" ? now : { kind: "none", because };
}

/**
 * A refresh brought tokens. They take the place of those that they were got with. If another process
 * logged in or out meanwhile, its outcome stays.
 *
 * @param alone Whether nobody else may refresh at this time. Without the lock another process may have
 *   refreshed the same login meanwhile: then the answer that came last is kept.
 */
export function afterRefresh(
  now: SessionState,
  held: RenewableTokens,
  fresh: Tokens,
  alone: boolean,
): SessionState {
  if (now.kind === "none") return now;
  const { tokens } = now;
  const sameLogin = held.authenticatedAt !== undefined &&
    tokens.authenticatedAt === held.authenticatedAt;
  return sameAccess(tokens, held) || (sameLogin && !alone) ? stateOf(fresh) : now;
}

/**
 * A refresh token was refused for good. The access token stays while it is good, unless the API
 * rejected it as well.
 */
export function afterRefusal(
  now: SessionState,
  refused: RenewableTokens,
  because: Ending,
  accessIsGood: boolean,
): SessionState {
  if (now.kind !== "renewable" || !sameRefresh(now.tokens, refused)) return now;
  if (now.rejected || !accessIsGood) return { kind: "none", because };
  const tokens = { ...now.tokens, refreshToken: undefined, authenticatedAt: undefined };
  return { kind: "access-only", tokens, rejected: false, because };
}

/** The API answered 401 to this access token. */
export function afterRejection(now: SessionState, rejected: Tokens): SessionState {
  return now.kind === "none" || !sameAccess(now.tokens, rejected)
    ? now
    : { ...now, rejected: true };
}

/** Whether two records hold the same refresh token. */
export function sameRefresh(a: RenewableTokens, b: RenewableTokens): boolean {
  return a.refreshToken.reveal() === b.refreshToken.reveal();
}
