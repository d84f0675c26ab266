import { durationText } from "../errors/amounts.ts";
import { AuthError } from "../errors/errors.ts";
import { resolveProvider } from "../provider/provider_settings.ts";
import { isRenewable, type RenewableTokens, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import { obtainTokens } from "../session/login.ts";
import type { Facts } from "./facts.ts";
import { attempt, fail, failed, type Finding, type Findings, ok, warn } from "./finding.ts";
import { NETWORK_CHECKS, probeWithToken } from "./network_checks.ts";

/**
 * Logs in with the user name and password that are set, calls the API with the new token, refreshes
 * once, and ends that login at the provider. The session does not change, neither here nor in its store.
 */
export async function tryLogin(facts: Facts, signal: AbortSignal | undefined): Promise<Findings> {
  const { configuration } = facts;
  const result = await attempt(
    signal,
    () => obtainTokens(configuration, { strategy: "environment" }, signal),
  );
  if (result instanceof AuthError) return { "login": failed(result) };
  const { tokens, notices: { DEVICE_NOT_CONFIRMED: device } } = result;
  const obtained: Tokens[] = [tokens];
  const findings: Findings = {
    "login": ok("the provider accepts user name and password"),
    "device": device && warn(device.problem),
  };
  try {
    const apiWithToken = await probeWithToken(configuration, facts.api, tokens, signal);
    findings["new token"] = await NETWORK_CHECKS.token?.({ ...facts, tokens, apiWithToken });
    const { finding, refreshed } = await tryRefresh(configuration, tokens, signal);
    findings["refresh"] = finding;
    if (refreshed) obtained.push(refreshed);
  } finally {
    // It sends nothing after an abort, and throws its reason.
    findings["logout"] = await endLogin(configuration, obtained, signal);
  }
  return findings;
}

interface TriedRefresh {
  readonly finding: Finding;
  readonly refreshed?: Tokens | undefined;
}

async function tryRefresh(
  configuration: Configuration,
  tokens: Tokens,
  signal: AbortSignal | undefined,
): Promise<TriedRefresh> {
  if (!isRenewable(tokens)) {
    const { lifetimeMs } = tokens;
    const span = lifetimeMs === undefined ? "" : `, so it lasts ${durationText(lifetimeMs)}`;
    const fix =
      "ask the support channel of your subscription to allow refresh tokens for the app client";
    return { finding: warn(`the provider gave this login no refresh token${span}`, fix) };
  }
  const tried = await attempt(signal, () => refreshOnce(configuration, tokens, signal));
  return tried instanceof AuthError ? { finding: failed(tried) } : tried;
}

async function refreshOnce(
  { options, settings, world }: Configuration,
  tokens: RenewableTokens,
  signal: AbortSignal | undefined,
): Promise<TriedRefresh> {
  const provider = await resolveProvider("refresh the session", options, settings);
  const { refusalError, requestRefresh } = await import("../provider/token_request.ts");
  const result = await requestRefresh(
    provider,
    tokens,
    settings.text("username"),
    world,
    provider.timeoutMs,
    { signal },
  );
  if (result.tokens) {
    return { finding: ok("the provider refreshes this login"), refreshed: result.tokens };
  }
  const error = refusalError("refresh", result);
  if (error.code !== "REFRESH_REJECTED") return { finding: failed(error) };
  // The refresh token is new, so another login does not help.
  const fix = "no later login can be refreshed either: ask the support channel of your " +
    "subscription whether its user pool tracks devices and gives this login none; until then log " +
    "in again when the token expires";
  return { finding: fail(error.problem, fix) };
}

async function endLogin(
  configuration: Configuration,
  obtained: readonly Tokens[],
  signal: AbortSignal | undefined,
): Promise<Finding> {
  const { endAtProvider } = await import("../provider/sign_out.ts");
  const result = await endAtProvider(configuration, obtained, false, signal);
  if (result.ended !== "here") {
    return ok("the provider ended this login again; its access token is valid until it expires");
  }
  const message = `this login ends by itself later: ${result.text}`;
  return obtained.some(isRenewable)
    ? warn(message, "do nothing: its tokens are not saved")
    : ok(message);
}
