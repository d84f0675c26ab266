/** Whose session it is: the rules that compare accounts. */
import { ConfigError } from "../errors/errors.ts";
import type { Claims } from "../platform/claims.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Owner } from "./vaults/vault.ts";

/** The account in the token, if it has one. */
export function accountOf(claims: Claims): string | undefined {
  return claims.username ?? claims.sub;
}

/** Whether two tokens belong to two accounts. A claim that one of them lacks is ignored. */
export function areOfTwoAccounts(a: Claims, b: Claims): boolean {
  const names = [[a.username, b.username], [a.sub, b.sub]];
  return names.some(([one, other]) => one !== undefined && other !== undefined && one !== other);
}

/** Whether a token names this user. A forged name is useless: the API rejects a changed token. */
export function isNamedIn({ sub, username }: Claims, user: string): boolean {
  return [username, sub].some((name) => name?.toLowerCase() === user.toLowerCase());
}

/**
 * Whether a token in the environment belongs to another app client or account. Another program may
 * have set `ACCESS_TOKEN`. If the client id is known, the token must therefore contain this id.
 *
 * @param kept The claims of the stored token, if there is one.
 */
export function isOfAnother(
  claims: Claims,
  clientId: string | undefined,
  kept: Claims | undefined,
): boolean {
  return (clientId !== undefined && claims.clientId !== clientId) ||
    (kept !== undefined && accountOf(kept) !== accountOf(claims));
}

/**
 * Whether these may be the tokens of this user, according to the login name or the names in the
 * token. Without a login name, a token whose `username` is its `sub` does not show the user's name,
 * so it may belong to any user.
 */
export function mayBelongTo({ claims, learned: { loginName } }: Tokens, user: string): boolean {
  const { sub, username = sub } = claims;
  const isUnknown = loginName === undefined && username === sub;
  return isUnknown || loginName?.toLowerCase() === user.toLowerCase() || isNamedIn(claims, user);
}

/**
 * Returns an error if a vault keeps the session of another account than this login's. Before a
 * password is sent, the user names are compared. A portal string may belong to any account, so its
 * `sub` is compared with that of the stored token.
 *
 * @param kept The tokens in the vault.
 * @param login The user name before a password is sent, or the tokens of the login.
 */
export function otherAccount(
  { account }: Owner,
  kept: Tokens | undefined,
  login: string | Tokens,
): ConfigError | undefined {
  const isByName = typeof login === "string";
  const [mine, theirs] = isByName
    ? [account, login]
    : login.source === "portal"
    ? [kept?.claims.sub, login.claims.sub]
    : [];
  if (mine === undefined || theirs === undefined || mine === theirs) return undefined;
  const other = isByName ? login : accountOf(login.claims);
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot log in: the store of AUTH_STORE keeps the session of ${
      isByName ? account : accountOf(kept?.claims ?? {})
    }, and this login is for another account`,
    [
      `make AUTH_STORE end with #${other}`,
      { inProgram: `, or use createSession() for ${other}` },
    ],
  );
}
