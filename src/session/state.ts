/**
 * What a session holds, and every way in which that changes. Pure functions over values: nothing here
 * reads a file, a clock or a setting.
 */
import type { SessionExpiredErrorCode } from "../errors/errors.ts";
import { isRenewable, type RenewableTokens, sameAccess, type Tokens } from "../values/tokens.ts";

/** Why a session can no longer be used, for the calls that come after. */
export interface Ending {
  readonly code: SessionExpiredErrorCode;
  readonly sentence: string;
}

/**
 * The state of a session. The transitions:
 *
 * | event                               | function         | outcome                                            |
 * | ----------------------------------- | ---------------- | -------------------------------------------------- |
 * | login, or tokens found at first use | `holdingOf`      | what the tokens allow                              |
 * | logout                              | `signedOut`      | nothing                                            |
 * | a refresh brought tokens            | `afterRefresh`   | these, unless another process wrote others         |
 * | a refresh was refused for good      | `afterRefusal`   | a good access token alone, else nothing            |
 * | another process wrote to the store  | `afterNews`      | what it wrote                                      |
 * | the API answered 401                | `afterRejection` | the same tokens, known to be rejected              |
 */
export type Holding =
  | { readonly kind: "none"; readonly because?: Ending }
  /** From the portal, or left over when the refresh token died. */
  | {
    readonly kind: "access-only";
    readonly tokens: Tokens;
    readonly rejected: boolean;
    readonly because?: Ending;
  }
  | { readonly kind: "renewable"; readonly tokens: RenewableTokens; readonly rejected: boolean };

/** What another process did to the store since this one last read or wrote it. */
export type News =
  | { readonly kind: "same" }
  | { readonly kind: "cleared" }
  | { readonly kind: "tokens"; readonly tokens: Tokens };

export const SIGNED_OUT: Holding = { kind: "none" };

const COMMAND_STOPPED: Holding = {
  kind: "none",
  because: { code: "NO_SESSION", sentence: "There is no session: logout() ended it; run login()" },
};

/** After a logout a command that gives tokens is not run by a call. */
export function signedOut(isByCommand: boolean): Holding {
  return isByCommand ? COMMAND_STOPPED : SIGNED_OUT;
}

/** What tokens amount to. */
export function holdingOf(tokens: Tokens | undefined): Holding {
  if (tokens === undefined) return SIGNED_OUT;
  return isRenewable(tokens)
    ? { kind: "renewable", tokens, rejected: false }
    : { kind: "access-only", tokens, rejected: false };
}

/** The tokens held, if any. */
export function tokensOf(holding: Holding): Tokens | undefined {
  return holding.kind === "none" ? undefined : holding.tokens;
}

/** Another process wrote later than this one, so what it wrote counts, whatever the times in its tokens. */
export function afterNews(holding: Holding, news: News, because: Ending): Holding {
  switch (news.kind) {
    case "same":
      return holding;
    case "cleared":
      return holding.kind === "none" ? holding : { kind: "none", because };
    case "tokens":
      return holdingOf(news.tokens);
  }
}

/**
 * A refresh brought tokens. They take the place of those that they were got with. If another process
 * logged in or out meanwhile, its outcome stays.
 *
 * @param alone Whether nobody else may refresh at this time. Without the lock another process may have
 *   refreshed the same login meanwhile: then the answer that came last is kept.
 */
export function afterRefresh(
  now: Holding,
  held: RenewableTokens,
  fresh: Tokens,
  alone: boolean,
): Holding {
  if (now.kind === "none") return now;
  const { tokens } = now;
  const sameLogin = held.authenticatedAt !== undefined &&
    tokens.authenticatedAt === held.authenticatedAt;
  return sameAccess(tokens, held) || (sameLogin && !alone) ? holdingOf(fresh) : now;
}

/**
 * A refresh token was refused for good. The access token stays while it is good, unless the API
 * rejected it as well.
 */
export function afterRefusal(
  now: Holding,
  refused: RenewableTokens,
  because: Ending,
  accessIsGood: boolean,
): Holding {
  if (now.kind !== "renewable" || !sameRefresh(now.tokens, refused)) return now;
  if (now.rejected || !accessIsGood) return { kind: "none", because };
  const tokens = { ...now.tokens, refreshToken: undefined, authenticatedAt: undefined };
  return { kind: "access-only", tokens, rejected: false, because };
}

/** The API answered 401 to this access token. */
export function afterRejection(now: Holding, rejected: Tokens): Holding {
  return now.kind === "none" || !sameAccess(now.tokens, rejected)
    ? now
    : { ...now, rejected: true };
}

/** Whether two records hold the same refresh token. */
export function sameRefresh(a: RenewableTokens, b: RenewableTokens): boolean {
  return a.refreshToken.reveal() === b.refreshToken.reveal();
}
