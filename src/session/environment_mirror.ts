import { environment, foreignVariable, setVariable } from "../platform/environment.ts";
import { linesIn, readStored, type StoredTokens } from "./stored_tokens.ts";
import { isOfAnother } from "./whose.ts";
import { makeTokens, type Tokens } from "../provider/tokens.ts";
import { AUDIENCE_VARIABLE, audienceText, notSent, type Trust } from "../settings/trust.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/**
 * Copies the tokens to the process environment, for child processes and other clients. Changes no
 * variable that contains the tokens of another session.
 */
export function showTokens(tokens: Tokens, configuration: Configuration): void {
  const { exportEnv, settings: { trust } } = configuration;
  if (exportEnv === "none") return;
  // Tokens that the user put into the environment are kept if this session does not use them.
  const isUsers = foreignVariable("ACCESS_TOKEN") !== undefined;
  if (isUsers && (isApart(trust) || tokensInEnvironment(configuration, tokens).note)) return;
  const { accessToken, refreshToken } = tokens;
  put("ACCESS_TOKEN", accessToken.reveal());
  if (exportEnv === "both") put("REFRESH_TOKEN", refreshToken?.reveal() ?? "");
  // ACCESS_TOKEN is now the token of this session, so child processes may send it to the hosts in
  // the `.env`.
  if (trust.audience !== undefined) put(AUDIENCE_VARIABLE, audienceText(trust.audience));
}

function put(variable: string, text: string): void {
  // If the variable already has this value, it is not set again, so that a value that the user set
  // stays when this session ends.
  if (environment(variable) !== text) setVariable(variable, text);
}

/** Removes the values that this process has set. */
export function withdrawTokens(): void {
  for (const variable of ["ACCESS_TOKEN", "REFRESH_TOKEN", AUDIENCE_VARIABLE]) {
    if (foreignVariable(variable) === undefined) setVariable(variable, "");
  }
}

/**
 * Removes the tokens of an ended session: the values that this process has set, and tokens of the
 * same account that already existed, for example because a `.env` was loaded into the environment.
 */
export function clearTokens(ended: Tokens | undefined, configuration: Configuration): void {
  const { exportEnv, settings: { trust } } = configuration;
  if (exportEnv === "none") return;
  const { own } = isApart(trust) ? {} : tokensInEnvironment(configuration, ended);
  withdrawTokens();
  if (own === undefined) return;
  setVariable("ACCESS_TOKEN", "");
  setVariable("REFRESH_TOKEN", "");
}

/**
 * Returns the tokens at first use: those of the store, or those in the environment if they are
 * newer and belong to the same client and account. The environment may contain an outdated copy of
 * the `.env`, so the claim `iat` decides which tokens are newer.
 */
export function firstTokens(
  configuration: Configuration,
  notices: Notices,
  kept: Tokens | undefined,
): Tokens | undefined {
  if (configuration.exportEnv === "none") return kept;
  const { own, note } = tokensInEnvironment(configuration, kept);
  notices.set({ ENVIRONMENT_IGNORED: note });
  if (configuration.settings.trust.isFound) return kept;
  if (own === undefined || kept === undefined) return own ?? kept;
  if ((own.claims.iat ?? 0) <= (kept.claims.iat ?? 0)) return kept;
  if (own.refreshToken) return own;
  const { authenticatedAt, learned, refreshToken } = kept;
  return { ...own, refreshToken, authenticatedAt, learned };
}

/**
 * Returns the tokens in the environment if they belong to this session. Other programs also use
 * ACCESS_TOKEN, so if the settings or the stored tokens show the app client, the token must belong
 * to that client.
 *
 * @returns The tokens, or a `note` that says why they are ignored.
 */
function tokensInEnvironment(
  { issuer, world, settings: { envFile, trust } }: Configuration,
  kept: Tokens | undefined,
): { own?: Tokens; note?: StoredTokens["note"] } {
  const clientId = issuer.clientId ?? kept?.claims.clientId;
  const { parts, note } = readStored(linesIn(environment), "environment", { ...issuer, clientId });
  if (parts === undefined) return note === undefined ? {} : { note };
  const own = makeTokens(parts, world);
  if (kept !== undefined && own.accessToken.reveal() === kept.accessToken.reveal()) return { own };
  if (own.accessToken.reveal() === "") {
    // A refresh token alone does not show its client and account, so it never replaces a session.
    if (kept !== undefined) {
      return own.refreshToken?.reveal() === kept.refreshToken?.reveal() ? { own } : {};
    }
    return trust.isFound ? { note: notSent("REFRESH_TOKEN", envFile ?? "") } : { own };
  }
  if (!isOfAnother(own.claims, clientId, kept?.claims)) return { own };
  return {
    note: {
      problem: "the tokens in the environment belong to another app client or account, so this " +
        "session neither uses nor replaces them",
      fix: "unset ACCESS_TOKEN and REFRESH_TOKEN if no other program needs them",
    },
  };
}

/**
 * Whether a session ignores the tokens that the user put into the environment, because the hosts in
 * a `.env` that was found by search must not receive them.
 */
function isApart({ isFound, withheld }: Trust): boolean {
  return isFound || withheld !== undefined;
}
