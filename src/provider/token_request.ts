import {
  makeTokens,
  readClaims,
  type RefreshVariant,
  type RenewableTokens,
  type Tokens,
} from "./tokens.ts";
import { type Delivery, send, type Waiters } from "./send.ts";
import { ConfigError } from "../errors/errors.ts";
import { passwordRequest, refreshRequest, rotatingRefreshRequest } from "./initiate_auth.ts";
import type { Meaning, Outcome, ProviderSettings } from "./protocol.ts";
import type { Secret } from "../platform/secret.ts";
import type { World } from "../platform/world.ts";

// Exported here so that it is loaded before anything is sent.
export { type CredentialOrigins, deliveryError } from "./delivery_error.ts";

/** The outcome of a request, with the tokens if the answer had any. */
export interface TokenDelivery {
  readonly delivery: Delivery;
  readonly tokens: Tokens | undefined;
  /** What the user should know beside it. */
  readonly warning?: Pick<Meaning, "problem" | "fix">;
}

/** The longest time that a login waits for its device to be confirmed. It has its tokens already. */
const CONFIRMATION_MS = 5_000;

/** Logs in with user name and password (section 5.2.2). */
export async function requestLogin(
  provider: ProviderSettings,
  username: string,
  password: Secret,
  world: World,
  signal: AbortSignal | undefined,
): Promise<TokenDelivery> {
  const request = await passwordRequest(provider, username, password);
  const delivery = await send(request, world, provider.timeoutMs, { signal });
  return await loginTokens(provider, delivery, world, signal);
}

/**
 * Reads the tokens of an answer to a login. If the provider made a device of it, that is confirmed; a
 * failure is a warning.
 */
export async function loginTokens(
  provider: ProviderSettings,
  delivery: Delivery,
  world: World,
  signal: AbortSignal | undefined,
): Promise<TokenDelivery> {
  const tokens = tokensOfDelivery(delivery, "password", delivery.sentAt, undefined, world);
  const device = delivery.outcome.kind === "tokens" ? delivery.outcome.tokens.device : undefined;
  if (tokens === undefined || device === undefined) return { delivery, tokens };
  const spentMs = world.monotonic() - delivery.sentAtMonotonic;
  const leftMs = Math.min(provider.timeoutMs - spentMs, CONFIRMATION_MS);
  // Loaded on demand: few providers know devices. With tokens at hand no failure may throw.
  const failure = await import("./device.ts").then(
    ({ confirmDevice }) =>
      confirmDevice(provider, tokens.accessToken, device, world, leftMs, signal),
    () => "a file of this module could not be loaded",
  );
  const withDevice: Tokens = { ...tokens, learned: { deviceKey: device.key } };
  if (failure === undefined) return { delivery, tokens: withDevice };
  const warning = {
    problem: `the provider did not confirm this device (${failure}), so it may refuse to refresh ` +
      "the session",
    fix: ["if it does, run ", { call: "login", options: { force: true } }],
  } as const;
  return { delivery, tokens: withDevice, warning };
}

/**
 * Refreshes (section 5.2.3). The document shows the request with and without SECRET_HASH, and the
 * provider may know the user by another name than the one typed at login. So the variants are tried
 * in order until one is not rejected for its hash. If the flow is switched off, the operation of
 * services that rotate refresh tokens is tried.
 *
 * @param username The name in the settings: it counts where the login's own is not known.
 * @param deadlineMs How long all of it may take.
 */
export async function requestRefresh(
  provider: ProviderSettings,
  held: RenewableTokens,
  username: string | undefined,
  world: World,
  deadlineMs: number,
  waiters: Waiters,
): Promise<TokenDelivery & { variant: RefreshVariant }> {
  const { claims, learned: { loginName = username, refreshVariant } } = held;
  const names = { username: claims.username, sub: claims.sub, login: loginName };
  const started = world.monotonic();
  let attempts = 0;
  let last: TokenDelivery & { variant: RefreshVariant } | undefined;
  const variants = variantsFor(provider, names, refreshVariant);
  for (let variant = variants.shift(); variant !== undefined; variant = variants.shift()) {
    const left = deadlineMs - (world.monotonic() - started);
    if (last !== undefined && (left <= 0 || waiters.isWanted?.() === false)) break;
    const request = variant === "rotating"
      ? rotatingRefreshRequest(provider, held)
      : await refreshRequest(provider, held, variant === "omit" ? undefined : names[variant]);
    const delivery = await send(request, world, left, waiters);
    attempts += delivery.attempts;
    const tokens = tokensOfDelivery(
      delivery,
      "refresh",
      held.authenticatedAt,
      held.refreshToken,
      world,
    );
    const { outcome } = delivery;
    if (variant === "rotating" && last !== undefined && isUnknownOperation(outcome)) {
      // The service does not know this operation: its answer to the documented one counts.
      last = { ...last, delivery: { ...last.delivery, attempts } };
      break;
    }
    last = { delivery: { ...delivery, attempts }, tokens, variant };
    if (outcome.kind !== "refused") break;
    if (outcome.code === "FLOW_DISABLED" && variant !== "rotating") {
      variants.splice(0, variants.length, "rotating");
    } else if (outcome.code !== "SECRET_HASH_REJECTED") {
      break;
    }
  }
  if (last === undefined) {
    throw new ConfigError(
      "MISSING_SETTINGS",
      "Cannot refresh the session: SECRET_HASH needs the user's name, and neither the token nor " +
        "USERNAME has one",
      "set USERNAME, or AUTH_REFRESH_SECRET_HASH=omit",
    );
  }
  return last;
}

/** Whether a refusal gives no other reason than that the service does not know or allow this request. */
function isUnknownOperation(outcome: Outcome): boolean {
  return outcome.kind === "refused" && outcome.words === undefined &&
    ["REJECTED", "UNEXPECTED_RESPONSE", "FLOW_DISABLED"].includes(outcome.code);
}

function variantsFor(
  provider: ProviderSettings,
  names: Readonly<Record<"username" | "sub" | "login", string | undefined>>,
  known: RefreshVariant | undefined,
): RefreshVariant[] {
  if (known === "rotating") return ["rotating"];
  if (provider.clientSecret === undefined || provider.refreshSecretHash === "omit") return ["omit"];
  const distinct = new Map<string, RefreshVariant>();
  for (const variant of ["username", "sub", "login"] as const) {
    const name = names[variant];
    if (name && !distinct.has(name)) distinct.set(name, variant);
  }
  const variants = [...distinct.values()];
  if (provider.refreshSecretHash === "auto") variants.push("omit");
  if (known === undefined || !variants.includes(known)) return variants;
  return [known, ...variants.filter((variant) => variant !== known)];
}

/** A refresh keeps the old refresh token when the answer has none. */
function tokensOfDelivery(
  delivery: Delivery,
  source: "password" | "refresh",
  authenticatedAt: number | undefined,
  oldRefreshToken: Secret | undefined,
  world: World,
): Tokens | undefined {
  const { outcome, sentAt, sentAtMonotonic } = delivery;
  if (outcome.kind !== "tokens") return undefined;
  const { accessToken, refreshToken, expiresIn } = outcome.tokens;
  const claims = readClaims(accessToken.reveal());
  const { exp, iat } = claims;
  // The lifetime is ExpiresIn (section 8), else the time between the token's own claims.
  const seconds = expiresIn ?? (exp ?? 0) - (iat ?? 0);
  const lifetimeMs = iat === undefined && expiresIn === undefined || seconds <= 0
    ? undefined
    : seconds * 1_000;
  return makeTokens(
    {
      accessToken,
      refreshToken: refreshToken ?? oldRefreshToken,
      lifetimeMs,
      expiresAt: lifetimeMs === undefined ? undefined : sentAt + lifetimeMs,
      authenticatedAt,
      source,
      claims,
    },
    world,
    { now: sentAt, monotonic: sentAtMonotonic },
  );
}
