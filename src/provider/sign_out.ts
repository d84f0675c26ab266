import { send, type Waiters } from "./send.ts";
import type { ProviderRequest, ProviderSettings } from "./protocol.ts";
import { globalSignOutRequest, revokeRequest } from "./initiate_auth.ts";
import { checkProviderSettings } from "./provider_settings.ts";
import { requestRefresh } from "./token_request.ts";
import type { World } from "../platform/world.ts";
import { AuthError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, isRenewable, type Tokens } from "./tokens.ts";
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

/** How far a logout went. */
export interface SignOutResult {
  /** Where the session ended: only here, also at the provider, or there on all devices. */
  readonly ended: "here" | "provider" | "everywhere";
  /** Why it did not end further away, for people. */
  readonly problem?: string;
}

const ACCESS_TOKEN_STAYS = "an access token is good until it expires";

/** How far a logout went, as the end of a sentence; `undefined`: there is nothing to say. */
export function signOutText({ ended, problem }: SignOutResult): string | undefined {
  if (ended === "everywhere") return "also at the provider, on all devices";
  if (ended === "here") return problem;
  return problem === undefined ? "also at the provider" : `${problem}; also at the provider`;
}

/**
 * Ends sessions at the provider, as far as the provider lets. They are forgotten here already, so a
 * failure is a part of the result and not an error.
 *
 * @param held All tokens that this logout ends, the newest of each login last.
 * @param everywhere Whether the account is signed out on all devices.
 * @throws The signal's reason, if it is aborted.
 */
export async function endAtProvider(
  { options, settings, world }: Account,
  held: readonly (Tokens | undefined)[],
  everywhere: boolean,
  signal: AbortSignal | undefined,
): Promise<SignOutResult> {
  const sessions = newestOfEach(held);
  if (sessions.length === 0) {
    return everywhere
      ? { ended: "here", problem: "not on other devices: no token is left to do that with" }
      : { ended: "here" };
  }
  if (!everywhere && !sessions.some(isRenewable)) {
    return { ended: "here", problem: `nothing to end at the provider: ${ACCESS_TOKEN_STAYS}` };
  }
  try {
    const provider = await checkProviderSettings("tell the provider", options, settings);
    const started = world.monotonic();
    const totalMs = Math.min(PATIENCE_MS, provider.timeoutMs);
    const request: SignOut = {
      provider,
      username: settings.text("username"),
      world,
      waiters: { signal, isOptional: true },
      leftMs: () => totalMs - (world.monotonic() - started),
    };
    const end = everywhere ? endEverywhere : endHere;
    return together(await Promise.all(sessions.map((tokens) => end(request, tokens))));
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { ended: "here", problem: `not at the provider: ${sentenceOf(error)}` };
  }
}

/** How the provider is told of a logout. */
interface SignOut {
  readonly provider: ProviderSettings;
  /** The name in the settings. */
  readonly username: string | undefined;
  readonly world: World;
  readonly waiters: Waiters;
  /** How long it may still take, in milliseconds. */
  leftMs(): number;
}

/** Of one login only the newest tokens: where refresh tokens rotate, the provider ends it by no other. */
function newestOfEach(held: readonly (Tokens | undefined)[]): readonly Tokens[] {
  const byLogin = new Map<unknown, Tokens>();
  for (const tokens of held) {
    if (tokens) byLogin.set(tokens.authenticatedAt ?? tokens.refreshToken?.reveal(), tokens);
  }
  return [...byLogin.values()];
}

/** The result of all sessions: that of the one that ended least far away, and all problems. */
function together(results: readonly SignOutResult[]): SignOutResult {
  const ended =
    (["here", "provider"] as const).find((each) =>
      results.some((result) => result.ended === each)
    ) ?? "everywhere";
  const problems = new Set(results.flatMap(({ problem }) => problem === undefined ? [] : problem));
  return problems.size === 0 ? { ended } : { ended, problem: [...problems].join("; ") };
}

async function endHere(request: SignOut, tokens: Tokens): Promise<SignOutResult> {
  if (!isRenewable(tokens)) return { ended: "here", problem: ACCESS_TOKEN_STAYS };
  const whyNot = await ask(request, revokeRequest(request.provider, tokens.refreshToken));
  return whyNot === undefined
    ? { ended: "provider" }
    : { ended: "here", problem: `not at the provider: ${whyNot}` };
}

/** Where the provider does not sign out all devices, this session ends all the same. */
async function endEverywhere(request: SignOut, tokens: Tokens): Promise<SignOutResult> {
  const current = await withGoodAccess(request, tokens);
  const whyNot = await ask(request, globalSignOutRequest(request.provider, current.accessToken));
  if (whyNot === undefined) return { ended: "everywhere" };
  const { ended, problem } = await endHere(request, current);
  const problems = [`not on other devices: ${whyNot}`, ...(problem === undefined ? [] : [problem])];
  return { ended, problem: problems.join("; ") };
}

/** The provider takes the wish for all devices only from an access token that is good. */
async function withGoodAccess(request: SignOut, tokens: Tokens): Promise<Tokens> {
  const { provider, username, world, waiters, leftMs } = request;
  if (!isRenewable(tokens) || isGoodFor(tokens, world, 0)) return tokens;
  const refreshed = await requestRefresh(provider, tokens, username, world, leftMs(), waiters);
  return refreshed.tokens ?? tokens;
}

/** @returns Why the provider did not do it, for people. */
async function ask(
  { world, waiters, leftMs }: SignOut,
  sent: ProviderRequest,
): Promise<string | undefined> {
  const { outcome } = await send(sent, world, leftMs(), waiters);
  if (outcome.kind !== "refused") return undefined;
  const { words, seen } = outcome;
  return words?.problem === undefined ? seen : `${words.problem} (${seen})`;
}
