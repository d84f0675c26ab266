import { ConfigError } from "../errors/errors.ts";
import { accountOf } from "../platform/claims.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Owner } from "./vault.ts";

/**
 * Returns an error if a vault keeps the session of an account other than that of a login. User
 * names may be aliases, and a portal string may belong to any account, so accounts are compared by
 * `sub`.
 *
 * @param kept The tokens in the vault.
 * @param login The user name of the login (before a password is sent), or the tokens of the login.
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
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot log in: the store of AUTH_STORE keeps the session of ${
      isByName ? account : accountOf(kept?.claims ?? {})
    }, and this login is for another account`,
    [
      "in AUTH_STORE (store), write that account after the # sign",
      { inProgram: ", or make a session for it with createSession()" },
    ],
  );
}
