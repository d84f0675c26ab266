import { AuthError } from "../errors/errors.ts";
import { resolveProvider } from "../provider/provider.ts";
import { isRenewable, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import { obtainTokens } from "../session/login.ts";
import type { Facts } from "./facts.ts";
import { attempt, fail, failed, type Finding, type Findings, ok, warn } from "./finding.ts";
import { NETWORK_CHECKS, probeWithToken } from "./network_checks.ts";

/**
 * Logs in with the configured user name and password, calls the API with the new token, refreshes
 * the tokens once, and revokes them. Neither the session nor its store changes.
 */
export async function tryLogin(facts: Facts, signal: AbortSignal | undefined): Promise<Findings> {
  const { configuration } = facts;
  const result = await attempt(
    signal,
    () => obtainTokens(configuration, { strategy: "environment" }, signal),
  );
  if (result instanceof AuthError) return { "login": failed(result) };
  const { tokens } = result;
  const obtained: Tokens[] = [tokens];
  const findings: Findings = {
    "login": ok("the provider accepts user name and password"),
  };
  try {
    const apiWithToken = await probeWithToken(configuration, facts.api, tokens, signal);
    findings["new token"] = await NETWORK_CHECKS.token?.({ ...facts, tokens, apiWithToken });
    const refreshed = await attempt(signal, () => refreshOnce(configuration, tokens, signal));
    findings["refresh"] = refreshed instanceof AuthError
      ? failedRefresh(refreshed)
      : refreshed
      ? ok("the provider refreshed the tokens")
      : NOT_RENEWABLE;
    if (refreshed && !(refreshed instanceof AuthError)) obtained.push(refreshed);
  } finally {
    // After an abort, `endLogin()` sends nothing and throws the reason.
    findings["logout"] = await endLogin(configuration, obtained, signal);
  }
  return findings;
}

/** @returns `undefined` if there is no refresh token. */
async function refreshOnce(
  { settings, world }: Configuration,
  tokens: Tokens,
  signal: AbortSignal | undefined,
): Promise<Tokens | undefined> {
  if (!isRenewable(tokens)) return undefined;
  const provider = await resolveProvider("refresh", settings);
  const { refusalError, requestRefresh } = await import("../provider/token_request.ts");
  const username = settings.text("username");
  const { timeoutMs } = provider;
  const result = await requestRefresh(provider, tokens, username, world, timeoutMs, { signal });
  if (result.tokens) return result.tokens;
  throw refusalError("refresh", result);
}

function failedRefresh(error: AuthError): Finding {
  if (error.code !== "REFRESH_REJECTED") return failed(error);
  // The provider refused a new refresh token, so another login would not help.
  return fail(
    error.problem,
    "refreshing fails until the provider changes this: ask the support channel of your " +
      "subscription whether its user pool tracks devices but assigns none to this login. Until " +
      "then, log in again when the token expires",
  );
}

const NOT_RENEWABLE = warn(
  "the provider issued no refresh token for this login",
  "ask the support channel of your subscription to allow refresh tokens for the app client",
);

async function endLogin(
  configuration: Configuration,
  obtained: readonly Tokens[],
  signal: AbortSignal | undefined,
): Promise<Finding> {
  const { endAtProvider } = await import("../provider/sign_out.ts");
  const result = await endAtProvider(configuration, obtained, false, signal);
  if (result.problem === undefined) {
    return ok("the test login ended; its access token stays valid until it expires");
  }
  return warn(
    `the test login could not be ended (${result.problem}); it ends when its tokens expire`,
    "do nothing: the tokens of the test login were not saved",
  );
}
