import { apiAccessOf } from "../api/api_access.ts";
import { failedCheck, type Finding } from "./finding.ts";
import { environment } from "../platform/environment.ts";
import { directClient, networkReason } from "../platform/transport.ts";
import type { World } from "../platform/world.ts";
import type { Configuration } from "../session/configuration.ts";
import { newPortalString } from "../show/status_view.ts";
import { AuthError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { isGoodFor, isRenewable, remainingMs, type Tokens } from "../provider/tokens.ts";
import { printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";

const REACH_MS = 5_000;
const MAX_SKEW_SECONDS = 60;

/** Whether the provider can be reached, and whether its clock agrees with this computer's. */
export async function checkProvider(
  { world }: Configuration,
  endpoint: URL | null,
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const name = "provider";
  if (endpoint === null) {
    return [{ name, level: "skip", message: "no address is set" }, checkClock(world, null)];
  }
  const reached = await reach(name, world, endpoint, signal);
  const finding = warnOfWebPage(reached, "AUTH_URL", "it names the token endpoint");
  return [finding, checkClock(world, reached.answer?.headers.get("date") ?? null)];
}

function checkClock(world: World, header: string | null): Finding {
  const name = "clock";
  const date = Date.parse(header ?? "");
  if (Number.isNaN(date)) {
    return { name, level: "skip", message: "the provider's answer has no date to compare with" };
  }
  const seconds = Math.round((world.now() - date) / 1_000);
  const message = Math.abs(seconds) <= 1
    ? "agrees with the provider's"
    : `${Math.abs(seconds)} seconds ${seconds > 0 ? "ahead of" : "behind"} the provider's`;
  return Math.abs(seconds) <= MAX_SKEW_SECONDS
    ? { name, level: "ok", message }
    : { name, level: "warn", message, fix: "set this computer's clock right" };
}

/** What asking the API gave. */
export interface ApiAsked {
  readonly finding: Finding;
  /** Its address and the status of the answer to a request without a token, if there was one. */
  readonly answered?: { readonly base: URL; readonly status: number };
}

/** Whether the API can be reached. */
export async function checkApi(
  { settings, world }: Configuration,
  signal: AbortSignal | undefined,
): Promise<ApiAsked> {
  const name = "API";
  let base: URL | undefined;
  try {
    // The same rule as for authFetch(): the token goes to no other address.
    base = apiAccessOf(settings).base;
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return { finding: failedCheck(name, error) };
  }
  if (base === undefined) {
    const fix = [
      "set it, so that ",
      { inProgram: "authFetch()", inTerminal: "platform-auth fetch" },
      " takes paths and may send the token there",
    ];
    return { finding: { name, level: "warn", message: "API_BASE_URL is not set", fix } };
  }
  const reached = await reach(name, world, base, signal);
  const finding = warnOfWebPage(reached, "API_BASE_URL", "it names the API, not the portal");
  const { answer } = reached;
  return answer ? { finding, answered: { base, status: answer.status } } : { finding };
}

/**
 * What is said of an answer that a portal gives, or another web page. It may be right all the same: some
 * show their documentation there.
 */
function warnOfWebPage({ finding, answer }: Reached, setting: string, address: string): Finding {
  if (answer === undefined) return finding;
  const { status, headers, ok } = answer;
  const isRedirect = status >= 300 && status < 400;
  const isPage = ok && /^text\/html\b/i.test(headers.get("content-type") ?? "");
  if (!isRedirect && !isPage) return finding;
  const what = isRedirect ? "and redirects to another page" : "with a web page";
  return {
    ...finding,
    level: "warn",
    message: `${finding.message} ${what}, as a portal does`,
    fix: `check ${setting}: ${address}`,
  };
}

/** Whether the API takes the access token, if there is a good one and the API can be reached. */
export async function checkToken(
  name: string,
  { answered }: ApiAsked,
  tokens: Tokens | undefined,
  configuration: Configuration,
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const { world } = configuration;
  if (answered === undefined || tokens === undefined || !isGoodFor(tokens, world, 0)) return [];
  const headers = { authorization: `bearer ${tokens.accessToken.reveal()}` };
  const { finding, answer } = await reach(name, world, answered.base, signal, headers);
  return [answer ? tokenFinding(name, tokens, configuration, answered.status, answer) : finding];
}

/**
 * What two answers, one without and one with the token, say of it. Where they are alike, the address
 * needs no token.
 */
function tokenFinding(
  name: string,
  tokens: Tokens,
  { world, settings }: Configuration,
  statusWithout: number,
  { status, headers }: Response,
): Finding {
  const lacksScope = status === 403 &&
    /\binsufficient_scope\b/.test(headers.get("www-authenticate") ?? "");
  if (lacksScope || (status === 401 && isNew(tokens, world))) {
    const message = `the API rejects a token that the provider just gave (status ${status}); ` +
      scopesText(tokens);
    return { name, level: "fail", message, fix: SCOPE_TICKET };
  }
  if (status === 401) {
    const message = `the API rejects the token (status ${status})`;
    const fix: Fix = tokens.source === "portal"
      ? newPortalString(settings.portalUrl)
      : ["run ", { call: "login", options: { force: true } }];
    return { name, level: "fail", message, fix };
  }
  if (status === statusWithout || status >= 500) {
    const message = `API_BASE_URL does not tell whether the token is good (status ${status})`;
    return { name, level: "skip", message };
  }
  return { name, level: "ok", message: `the API takes the token (status ${status})` };
}

/** Another login gives no better token than one of these last minutes. */
const NEW_MS = 300_000;

/** Whether a token comes from a login or a refresh of the last minutes. */
function isNew(tokens: Tokens, world: World): boolean {
  const leftMs = remainingMs(tokens, world);
  return isRenewable(tokens) && tokens.lifetimeMs !== undefined && leftMs !== undefined &&
    tokens.lifetimeMs - leftMs < NEW_MS;
}

/** No claim of a real token is longer than a few hundred characters. */
const MAX_SCOPES_LENGTH = 300;

function scopesText({ claims: { scope } }: Tokens): string {
  return scope === undefined
    ? "it does not tell its scopes"
    : `its scopes: ${shortened(printable(scope), MAX_SCOPES_LENGTH)}`;
}

/** Another login gives the same scopes: only the support can change them. */
const SCOPE_TICKET: Fix = [
  'ask the support channel of your subscription: "The data platform API refuses the access token ' +
  "of a new login with USER_PASSWORD_AUTH. Which scopes does it ask for, and how does a program " +
  'get them?"; until then a portal string may work: run ',
  { call: "login", options: { strategy: "portal" } },
];

interface Reached {
  readonly finding: Finding;
  /** Its body is dropped. */
  readonly answer?: Response;
}

/** Sends one GET, and tells nothing of its headers. */
async function reach(
  name: string,
  world: World,
  url: URL,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reached> {
  const limit = world.timeout(REACH_MS);
  const client = world.fetch === undefined ? directClient(url) : undefined;
  try {
    const answer = await (world.fetch ?? fetch)(url, {
      headers,
      // A redirect may lead elsewhere, and the token must not.
      redirect: "manual",
      ...(client && { client }),
      signal: signal ? AbortSignal.any([limit, signal]) : limit,
    });
    await answer.body?.cancel();
    const message = `${url.host} answers (status ${answer.status})`;
    return { finding: { name, level: "ok", message }, answer };
  } catch (error) {
    signal?.throwIfAborted();
    return { finding: { name, level: "fail", ...whyUnreached(error, url, limit.aborted) } };
  } finally {
    client?.close();
  }
}

function whyUnreached(
  error: unknown,
  { host }: URL,
  timedOut: boolean,
): { message: string; fix: string } {
  if (error instanceof Deno.errors.NotCapable) {
    return { message: `${host} may not be reached`, fix: `run with --allow-net=${host}` };
  }
  const elsewhere = "check the address, the network and any proxy";
  if (timedOut) {
    return { message: `${host} did not answer in ${REACH_MS / 1_000} seconds`, fix: elsewhere };
  }
  const { words, fix = elsewhere } = networkReason(error);
  return { message: `${host}: ${words}`, fix };
}

/** Which requests go through a proxy. Its address is not shown: it may hold a password. */
export function checkProxy({ settings }: Configuration, endpoint: URL | null): Finding[] {
  const ways = [endpoint, URL.parse(settings.text("apiBaseUrl") ?? "")].flatMap((url) => {
    const variable = url === null ? undefined : proxyVariable(url);
    return url === null || variable === undefined ? [] : [{ variable, host: url.hostname }];
  });
  if (ways.length === 0) return [];
  const variables = [...new Set(ways.map(({ variable }) => variable))].join(", ");
  const hosts = [...new Set(ways.map(({ host }) => host))];
  return [{
    name: "proxy",
    level: "warn",
    message: `requests to ${hosts.join(", ")} go through the proxy in ${variables}`,
    fix: `if that is not wanted, add ${hosts.join(",")} to NO_PROXY`,
  }];
}

/** The variable that sends a request through a proxy, if one does. */
function proxyVariable(url: URL): string | undefined {
  // Plain http: is loopback, which is reached directly.
  if (url.protocol !== "https:") return undefined;
  if (isExempt(url.hostname, environment("NO_PROXY") ?? environment("no_proxy") ?? "")) {
    return undefined;
  }
  return ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"].find(environment);
}

function isExempt(hostname: string, list: string): boolean {
  return list.split(",").map((entry) => entry.trim().replace(/^\*?\./, "")).some((entry) =>
    entry === "*" || entry === hostname || (entry !== "" && hostname.endsWith(`.${entry}`))
  );
}
