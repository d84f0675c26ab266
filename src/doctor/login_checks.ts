import { failedCheck, type Finding } from "./finding.ts";
import { checkProviderSettings } from "../provider/provider_settings.ts";
import type { Configuration } from "../session/configuration.ts";
import { obtainTokens } from "../session/login.ts";
import { AuthError } from "../errors/errors.ts";
import { isRenewable, type RenewableTokens, type Tokens } from "../provider/tokens.ts";
import { durationText } from "../errors/amounts.ts";
import { type ApiAsked, checkToken } from "./network_checks.ts";

/**
 * Logs in with the user name and password that are set, asks the API with the new token, refreshes
 * once, and ends that login at the provider. The session stays as it is, here and in its store.
 */
export async function checkLogin(
  configuration: Configuration,
  api: ApiAsked,
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const name = "login";
  try {
    const { tokens, notices } = await obtainTokens(
      configuration,
      { strategy: "environment" },
      signal,
    );
    const findings: Finding[] = [
      { name, level: "ok", message: "the provider accepts user name and password" },
    ];
    const { DEVICE_NOT_CONFIRMED: device } = notices;
    if (device) findings.push({ name, level: "warn", message: device.problem });
    const held: Tokens[] = [tokens];
    try {
      findings.push(...await checkToken("new token", api, tokens, configuration, signal));
      const { finding, refreshed } = await checkRefresh(configuration, tokens, signal);
      findings.push(finding);
      if (refreshed) held.push(refreshed);
    } finally {
      // It sends nothing after an abort, and throws its reason.
      findings.push(await endLogin(configuration, held, signal));
    }
    return findings;
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return [failedCheck(name, error)];
  }
}

interface RefreshTried {
  readonly finding: Finding;
  readonly refreshed?: Tokens | undefined;
}

async function checkRefresh(
  configuration: Configuration,
  tokens: Tokens,
  signal: AbortSignal | undefined,
): Promise<RefreshTried> {
  const name = "refresh";
  if (!isRenewable(tokens)) {
    const { lifetimeMs } = tokens;
    const span = lifetimeMs === undefined ? "" : `, so it lasts ${durationText(lifetimeMs)}`;
    const message = `the provider gave this login no refresh token${span}`;
    return { finding: { name, level: "warn", message, fix: ASK_FOR_REFRESH } };
  }
  try {
    return await refreshOnce(configuration, tokens, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { finding: failedCheck(name, error) };
  }
}

const ASK_FOR_REFRESH =
  "ask the support channel of your subscription to allow refresh tokens for the app client";

async function refreshOnce(
  { options, settings, world }: Configuration,
  tokens: RenewableTokens,
  signal: AbortSignal | undefined,
): Promise<RefreshTried> {
  const name = "refresh";
  const provider = await checkProviderSettings("refresh the session", options, settings);
  const { deliveryError, requestRefresh } = await import("../provider/token_request.ts");
  const { delivery, tokens: refreshed } = await requestRefresh(
    provider,
    tokens,
    settings.text("username"),
    world,
    provider.timeoutMs,
    { signal },
  );
  if (refreshed) {
    const message = "the provider refreshes this login";
    return { finding: { name, level: "ok", message }, refreshed };
  }
  const error = deliveryError("refresh", delivery, world.now());
  if (error.code !== "REFRESH_REJECTED") return { finding: failedCheck(name, error) };
  // The refresh token is new, so another login does not help.
  const fix = "no later login is refreshed either: ask the support channel of your subscription " +
    "whether its user pool tracks devices and gives this login none; until then log in again when " +
    "the token ends";
  return { finding: { name, level: "fail", message: error.problem, fix } };
}

/** Ends what was tried at the provider. */
async function endLogin(
  configuration: Configuration,
  held: readonly Tokens[],
  signal: AbortSignal | undefined,
): Promise<Finding> {
  const name = "logout";
  const { endAtProvider, signOutText } = await import("../provider/sign_out.ts");
  const result = await endAtProvider(configuration, held, false, signal);
  if (result.ended !== "here") {
    const message =
      "the provider ended this login again; its access token is good until it expires";
    return { name, level: "ok", message };
  }
  const message = `this login ends by itself later: ${signOutText(result)}`;
  return held.some(isRenewable)
    ? { name, level: "warn", message, fix: "do nothing: its tokens are not saved" }
    : { name, level: "ok", message };
}
