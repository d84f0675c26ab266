import { accessOf } from "../api/api_access.ts";
import type { Fix } from "../errors/advice.ts";
import { AuthError } from "../errors/errors.ts";
import { printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";
import { environment } from "../platform/environment.ts";
import { failureOf } from "../platform/log.ts";
import type { RequestEvent } from "../platform/log_event.ts";
import { directClient, HTTPS_PROXIES, networkReason } from "../platform/transport.ts";
import { isGoodFor, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import type { Settings } from "../settings/settings.ts";
import { newPortalString } from "../show/status_view.ts";
import type { Checks, Probe } from "./facts.ts";
import { fail, failed, type Finding, ok, skip, warn } from "./finding.ts";

const REACH_MS = 5_000;
const MAX_SKEW_SECONDS = 60;

/** Checks of the network, the provider and the API. */
export const NETWORK_CHECKS: Checks = {
  // Shows only the names of the variables, because the address of a proxy may contain a password.
  // HTTP_PROXY is not shown, because `http:` is used only on loopback, without a proxy.
  "proxy": () => {
    const set = HTTPS_PROXIES.filter(environment);
    if (set.length === 0) return undefined;
    const exceptions = "except requests to loopback and to the hosts in NO_PROXY";
    return ok(`${set.join(", ")}: requests use this proxy, ${exceptions}`);
  },

  "provider": ({ provider }) => {
    if (provider === undefined) return skip("no address is set");
    return addressProblem(provider, "AUTH_URL, which must be the address of the token endpoint") ??
      ok(`${provider.url.host} is reachable`);
  },

  "clock": ({ configuration: { world }, provider }) => {
    const date = Date.parse(provider?.response?.headers.get("date") ?? "");
    if (Number.isNaN(date)) return skip("not compared: the provider sent no date");
    const seconds = Math.round((world.now() - date) / 1_000);
    if (Math.abs(seconds) <= MAX_SKEW_SECONDS) return ok("agrees with the provider's clock");
    const side = seconds > 0 ? "ahead of" : "behind";
    return warn(
      `${Math.abs(seconds)} seconds ${side} the provider's clock`,
      "correct this computer's clock",
    );
  },

  "API": ({ base, api }) => {
    if (base instanceof AuthError) return failed(base);
    if (api === undefined) return warn("API_BASE_URL is not set", SET_API_BASE_URL);
    return addressProblem(
      api,
      "API_BASE_URL, which must be the address of the API, not the portal",
    ) ?? ok(`${api.url.host} is reachable`);
  },

  // Compares the responses to a GET with and without the token.
  "token": ({ configuration, tokens, api, apiWithToken }) => {
    if (apiWithToken === undefined || tokens === undefined) return undefined;
    const { url: { href }, response, failure } = apiWithToken;
    if (response === undefined) return failure;
    const { ok: isOk, status, headers } = response;
    const lacksScope = /\binsufficient_scope\b/.test(headers.get("www-authenticate") ?? "");
    if (status === 401 || (status === 403 && lacksScope)) {
      const { scope } = tokens.claims;
      const scopes = scope === undefined
        ? "it does not list its scopes"
        : `its scopes: ${shortened(printable(scope), MAX_SCOPES_LENGTH)}`;
      const fix = tokens.source === "portal"
        ? newPortalString(configuration.settings.portalText)
        : NEW_TOKEN;
      return fail(`the API rejects the token (status ${status}); ${scopes}`, fix);
    }
    if (isOk && api?.response?.ok === false) return ok("the API accepts the token");
    const before = `${api?.response?.status} without`;
    return skip(
      `not certain: GET ${href} returns status ${status} with the token and ${before}; try a path of the API`,
    );
  },
};

/** Maximum length of the scopes shown, in characters. */
const MAX_SCOPES_LENGTH = 300;

/**
 * The fix for a rejected token. A new login returns the same scopes; only the support channel can
 * change them.
 */
const NEW_TOKEN: Fix = [
  "run ",
  { call: "login", options: { force: true } },
  '; if the API rejects the new token, too, ask the support channel of your subscription: "The ' +
  "data platform API rejects the access token of a new login with USER_PASSWORD_AUTH. Which " +
  'scopes does it require, and how does a program get them?"; until then a portal string may work',
];

/** Sends one GET. */
export async function probe(
  { world }: Configuration,
  to: "provider" | "api",
  url: URL,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Probe> {
  const limit = world.timeout(REACH_MS);
  const started = world.monotonic();
  let result: Pick<RequestEvent, "status" | "error"> = {};
  try {
    using client = world.fetch === undefined ? directClient(url) : undefined;
    const response = await (world.fetch ?? fetch)(url, {
      headers,
      // The target of a redirect must not receive the token, so the redirect is not followed.
      redirect: "manual",
      ...(client && { client }),
      signal: signal ? AbortSignal.any([limit, signal]) : limit,
    });
    await response.body?.cancel();
    result = { status: response.status };
    return { url, response };
  } catch (error) {
    result = { error: limit.aborted ? "TIMEOUT" : failureOf(error, signal) };
    signal?.throwIfAborted();
    return { url, failure: unreached(error, url, limit.aborted) };
  } finally {
    world.log?.({
      event: "request",
      to,
      method: "GET",
      url: url.origin + url.pathname,
      ...result,
      milliseconds: Math.round(world.monotonic() - started),
      attempt: 1,
    });
  }
}

function unreached(error: unknown, url: URL, isTimeout: boolean): Finding {
  const { host } = url;
  if (error instanceof Deno.errors.NotCapable) {
    return fail(`the permission to reach ${host} is missing`, `run with --allow-net=${host}`);
  }
  const fix = "check the address, the network and any proxy";
  if (isTimeout) return fail(`${host} did not respond within ${REACH_MS / 1_000} seconds`, fix);
  const reason = networkReason(error, url);
  return fail(`${host}: ${reason.words}`, reason.fix ?? fix);
}

/** Returns a warning if the response to a GET shows that the address may be wrong. */
function addressProblem({ url: { host }, response, failure }: Probe, setting: string) {
  if (response === undefined) return failure;
  const { status, headers, ok } = response;
  if (status >= 500) return warn(`${host} responds with status ${status}`, "try again later");
  // Some APIs serve their documentation at this address, so the address may still be correct.
  const isPage = ok && /^text\/html\b/i.test(headers.get("content-type") ?? "");
  const isRedirect = status >= 300 && status < 400;
  if (!isRedirect && !isPage) return undefined;
  const what = isRedirect ? "redirects to another page" : "responds with a web page";
  return warn(`${host} ${what}, as a portal does`, `check ${setting}`);
}

/**
 * Returns the base address of the API, or the error if the address cannot be used. Applies the
 * rules of `authFetch()`, so that the check sends the token to no other address.
 */
export function apiAddress(settings: Settings): URL | AuthError | undefined {
  try {
    return accessOf(settings).base;
  } catch (error) {
    if (error instanceof AuthError) return error;
    throw error;
  }
}

const SET_API_BASE_URL: Fix = [
  "set it to the API's base address; ",
  { inProgram: "authFetch()", inTerminal: "platform-auth fetch" },
  " then accepts paths and sends the token to that address",
];

/** Calls the API with the token, if the token is valid and the API can be reached. */
export async function probeWithToken(
  configuration: Configuration,
  api: Probe | undefined,
  tokens: Tokens | undefined,
  signal: AbortSignal | undefined,
): Promise<Probe | undefined> {
  if (!api?.response || !tokens || !isGoodFor(tokens, configuration.world, 0)) return undefined;
  const headers = { authorization: `bearer ${tokens.accessToken.reveal()}` };
  return await probe(configuration, "api", api.url, signal, headers);
}
