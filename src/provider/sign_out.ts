import { send, type Waiters } from "./send.ts";
import type { ProviderRequest, ProviderSettings } from "./protocol.ts";
import { globalSignOutRequest, revokeRequest } from "./initiate_auth.ts";
import { checkProviderSettings } from "./provider_settings.ts";
import { whyNotEnded } from "./read_refusal.ts";
import { requestRefresh } from "./token_request.ts";
import type { World } from "../runtime/world.ts";
import { AuthError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, isRenewable, type Tokens } from "../values/tokens.ts";
import type { SessionOptions } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";

/** A logout waits no longer for the provider: the tokens are gone from here already. */
const PATIENCE_MS = 3_000;

/** Whose sessions end. */
export interface Account {
  readonly options: SessionOptions;
  readonly settings: Settings;
  readonly world: World;
}

/** How the provider is told of a logout. */
interface Telling {
  readonly provider: ProviderSettings;
  /** The name in the settings. */
  readonly username: string | undefined;
  readonly world: World;
  readonly waiters: Waiters;
  /** How long it may still take, in milliseconds. */
  leftMs(): number;
}

/**
 * Ends sessions at the provider, as far as it lets. They are forgotten here already, so a failure is
 * only told.
 *
 * @param held What the session held, then what another process saved last, if that differs.
 * @param everywhere Whether the account is signed out on all devices.
 * @returns What came of it, as the end of a sentence; `undefined`: there is nothing to tell.
 */
export async function endAtProvider(
  { options, settings, world }: Account,
  held: readonly (Tokens | undefined)[],
  everywhere: boolean,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const ended = newestOfEach(held);
  if (ended.length === 0) {
    return everywhere ? "not on other devices: there was no session to do that with" : undefined;
  }
  if (!everywhere && !ended.some(isRenewable)) {
    return "nothing to end at the provider: an access token is good until it expires";
  }
  try {
    const provider = await checkProviderSettings("tell the provider", options, settings);
    const started = world.monotonic();
    const totalMs = Math.min(PATIENCE_MS, provider.timeoutMs);
    const telling: Telling = {
      provider,
      username: settings.text("username"),
      world,
      waiters: { signal },
      leftMs: () => totalMs - (world.monotonic() - started),
    };
    const end = everywhere ? endEverywhere : endHere;
    const told = await Promise.all(ended.map((tokens) => end(telling, tokens)));
    return [...new Set(told)].join("; ");
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return `not at the provider: ${sentenceOf(error)}`;
  }
}

/** Of one login only the newest tokens: where refresh tokens rotate, the provider ends it by no other. */
function newestOfEach(held: readonly (Tokens | undefined)[]): readonly Tokens[] {
  const byLogin = new Map<unknown, Tokens>();
  for (const tokens of held) {
    if (tokens) byLogin.set(tokens.authenticatedAt ?? tokens.refreshToken?.reveal(), tokens);
  }
  return [...byLogin.values()];
}

async function endHere(telling: Telling, tokens: Tokens): Promise<string> {
  if (!isRenewable(tokens)) return "an access token is good until it expires";
  const whyNot = await ask(telling, revokeRequest(telling.provider, tokens.refreshToken));
  return whyNot === undefined ? "also at the provider" : `not at the provider: ${whyNot}`;
}

/** Where the provider does not sign out all devices, this session ends all the same. */
async function endEverywhere(telling: Telling, tokens: Tokens): Promise<string> {
  const current = await withGoodAccess(telling, tokens);
  const whyNot = await ask(telling, globalSignOutRequest(telling.provider, current.accessToken));
  if (whyNot === undefined) return "also at the provider, on all devices";
  return `not on other devices: ${whyNot}; ${await endHere(telling, current)}`;
}

/** The provider takes the wish for all devices only from an access token that is good. */
async function withGoodAccess(telling: Telling, tokens: Tokens): Promise<Tokens> {
  const { provider, username, world, waiters, leftMs } = telling;
  if (!isRenewable(tokens) || isGoodFor(tokens, world, 0)) return tokens;
  const { loginName = username, refreshVariant } = tokens.learned;
  const refreshed = await requestRefresh(
    ...[provider, tokens, loginName, refreshVariant, world, leftMs(), waiters] as const,
  );
  return refreshed.tokens ?? tokens;
}

/** @returns Why the provider did not do it. */
async function ask(telling: Telling, request: ProviderRequest): Promise<string | undefined> {
  const { outcome } = await send(request, telling.world, telling.leftMs(), telling.waiters);
  return outcome.kind === "refused" ? whyNotEnded(outcome) : undefined;
}
