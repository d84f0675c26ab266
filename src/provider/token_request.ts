import {
  claimedLifetimeMs,
  makeTokens,
  type RefreshVariant,
  type RenewableTokens,
  type TokenParts,
  type Tokens,
} from "./tokens.ts";
import type { Hold } from "./hold.ts";
import { confirmDevice } from "./device.ts";
import { send, type SendOptions, type SendResult } from "./send.ts";
import { passwordRequest, refreshRequest, rotatingRefreshRequest } from "./requests.ts";
import type { Outcome, Refused } from "./protocol.ts";
import type { Provider } from "./provider.ts";
import { readClaims } from "../platform/claims.ts";
import type { Secret } from "../platform/secret.ts";
import { VARIABLES } from "../settings/options.ts";
import type { World } from "../platform/world.ts";

// A refresh imports only this file on demand, so these re-exports load both functions before
// anything is sent.
export { refusalError } from "./refusal_error.ts";
export { resolveProvider } from "./provider.ts";

/** The result of a request for tokens. */
export interface TokenResult extends SendResult {
  readonly tokens: Tokens | undefined;
}

/** The result of a refresh, and the form of the last request. */
export type RefreshResult = TokenResult & { readonly variant: RefreshVariant };

/** Logs in with user name and password (section 5.2). */
export async function requestLogin(
  provider: Provider,
  username: string,
  password: Secret,
  world: World,
  signal: AbortSignal | undefined,
  hold: Hold | undefined,
): Promise<TokenResult> {
  const request = await passwordRequest(provider, username, password);
  const result = await send(request, world, provider.timeoutMs, { signal, hold });
  return await loginTokens(provider, result, world, signal);
}

/**
 * Reads the tokens from the response to a login. If the provider created a device, confirms the
 * device. The outcome of the confirmation is ignored: a refresh shows whether the provider knows
 * the device.
 */
export async function loginTokens(
  provider: Provider,
  result: SendResult,
  world: World,
  signal: AbortSignal | undefined,
): Promise<TokenResult> {
  const { outcome, sentAt: authenticatedAt } = result;
  const learned = { provider: provider.url.origin };
  const login = withTokens(result, { source: "password", authenticatedAt, learned }, world);
  const { tokens } = login;
  const device = outcome.kind === "tokens" ? outcome.tokens.device : undefined;
  if (tokens === undefined || device === undefined) return login;
  await confirmDevice(provider, tokens.accessToken, device, world, signal);
  return { ...login, tokens: { ...tokens, learned: { ...learned, deviceKey: device.key } } };
}

/**
 * Refreshes the tokens (section 5.2). Section 2.1 shows the request with and without SECRET_HASH,
 * and the provider may know the user by another name than the one used for the login. So this
 * function tries each way to build SECRET_HASH until one is accepted. If the client does not allow
 * the flow, the function tries the operation of services that rotate refresh tokens.
 *
 * @param username The user name in the settings, used if the tokens do not contain the login name.
 * @param limitMs Time limit for all requests together.
 */
export async function requestRefresh(
  provider: Provider,
  held: RenewableTokens,
  username: string | undefined,
  world: World,
  limitMs: number,
  options: SendOptions,
): Promise<RefreshResult> {
  const { claims, learned: { loginName = username, refreshVariant } } = held;
  const names = { username: claims.username, sub: claims.sub, login: loginName };
  const end = world.monotonic() + limitMs;
  let attempts = 0;
  const attempt = async (variant: RefreshVariant): Promise<RefreshResult> => {
    const request = variant === "rotating"
      ? rotatingRefreshRequest(provider, held)
      : await refreshRequest(provider, held, variant === "omit" ? undefined : names[variant]);
    const result = await send(request, world, end - world.monotonic(), options);
    attempts += result.attempts;
    const { authenticatedAt, refreshToken } = held;
    const learned = { ...held.learned, provider: provider.url.origin };
    const parts = { source: "refresh", authenticatedAt, refreshToken, learned } as const;
    return { ...withTokens(result, parts, world), attempts, variant };
  };
  const mayGoOn = () => world.monotonic() < end && options.isWanted?.() !== false;

  const [first = "omit", ...others] = variantsFor(provider, names, refreshVariant);
  let last = await attempt(first);
  for (const variant of others) {
    if (codeOf(last.outcome) !== "SECRET_HASH_REJECTED" || !mayGoOn()) break;
    last = await attempt(variant);
  }
  const { outcome } = last;
  if (outcome.kind === "refused" && outcome.code === "SECRET_HASH_REJECTED") {
    const advice = outcome.advice ?? adviceWithout(names, provider);
    return { ...last, outcome: { ...outcome, advice } };
  }
  if (codeOf(last.outcome) !== "FLOW_DISABLED" || first === "rotating" || !mayGoOn()) return last;
  const rotated = await attempt("rotating");
  // If the service does not know the operation that rotates tokens, the response to InitiateAuth
  // tells the user more.
  const isUnknown = ["REJECTED", "UNEXPECTED_RESPONSE"].includes(codeOf(rotated.outcome) ?? "");
  return isUnknown ? { ...last, attempts } : rotated;
}

/** SECRET_HASH contains the user name, which a refresh token alone does not show. */
function adviceWithout(names: Names, { clientSecret }: Provider): Refused["advice"] {
  if (clientSecret === undefined || Object.values(names).some(Boolean)) return undefined;
  return {
    problem: "the provider requires SECRET_HASH, which is computed from the user name",
    fix: `set ${VARIABLES.username} to the user name of this session`,
  };
}

function codeOf(outcome: Outcome): string | undefined {
  return outcome.kind === "refused" ? outcome.code : undefined;
}

/** The names from which SECRET_HASH may be made. */
type Names = Readonly<Record<"username" | "sub" | "login", string | undefined>>;

function variantsFor(
  provider: Provider,
  names: Names,
  known: RefreshVariant | undefined,
): RefreshVariant[] {
  if (known === "rotating") return ["rotating"];
  if (provider.clientSecret === undefined || provider.refreshSecretHash === "omit") return ["omit"];
  const named = (["username", "sub", "login"] as const).filter((variant) => names[variant]);
  const variants: RefreshVariant[] = [...named];
  if (provider.refreshSecretHash === "auto") variants.push("omit");
  return variants.sort((a, b) => Number(b === known) - Number(a === known));
}

/**
 * Builds a result from the tokens in the response.
 *
 * @param parts Facts that are not in the response. A refresh token in the response replaces the
 * refresh token in `parts`.
 */
function withTokens(
  result: SendResult,
  parts: Pick<TokenParts, "source" | "authenticatedAt" | "refreshToken" | "learned">,
  world: World,
): TokenResult {
  const { outcome, sentAt, sentAtMonotonic } = result;
  if (outcome.kind !== "tokens") return { ...result, tokens: undefined };
  const { accessToken, refreshToken = parts.refreshToken, expiresIn } = outcome.tokens;
  const claims = readClaims(accessToken.reveal());
  // The lifetime is ExpiresIn (section 8), or else the time between the claims `iat` and `exp`.
  const lifetimeMs = expiresIn === undefined ? claimedLifetimeMs(claims) : expiresIn * 1_000;
  const expiresAt = lifetimeMs === undefined ? undefined : sentAt + lifetimeMs;
  const tokens = makeTokens(
    { ...parts, accessToken, refreshToken, lifetimeMs, expiresAt, claims },
    world,
    { now: sentAt, monotonic: sentAtMonotonic },
  );
  return { ...result, tokens };
}
