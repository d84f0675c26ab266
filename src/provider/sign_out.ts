import { send } from "./send.ts";
import type { ProviderRequest, ProviderSettings } from "./protocol.ts";
import { globalSignOutRequest, revokeRequest } from "./requests.ts";
import { resolveProvider } from "./provider_settings.ts";
import { requestRefresh } from "./token_request.ts";
import type { World } from "../platform/world.ts";
import { AuthError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, isRenewable, type Tokens } from "./tokens.ts";
import type { SessionOptions } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";

/** Time limit for the provider at a logout, which has already removed the tokens here. */
const LIMIT_MS = 3_000;

/** The account whose sessions end. */
export interface Account {
  readonly options: SessionOptions;
  readonly settings: Settings;
  readonly world: World;
}

/** How far a logout went. */
export interface SignOutResult {
  /** Where the session ended: only here, also at the provider, or there on all devices. */
  readonly ended: "here" | "provider" | "everywhere";
  /** The same and why it did not go further, as the end of a sentence; absent if there is nothing to say. */
  readonly text?: string;
}

const ACCESS_TOKEN_STAYS = "an access token is valid until it expires";

/**
 * Ends sessions at the provider, as far as the provider supports it. Their tokens are already removed
 * here, so a failure is part of the result, not an error.
 *
 * @param held All tokens that this logout ends, the newest of each login last.
 * @param everywhere Whether to sign the account out on all devices.
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
      ? { ended: "here", text: "not on other devices: no token is left to do that with" }
      : { ended: "here" };
  }
  if (!everywhere && !sessions.some(isRenewable)) {
    return { ended: "here", text: `nothing to end at the provider: ${ACCESS_TOKEN_STAYS}` };
  }
  try {
    const provider = await resolveProvider("tell the provider", options, settings);
    const end = world.monotonic() + Math.min(LIMIT_MS, provider.timeoutMs);
    const leftMs = () => end - world.monotonic();
    const bestEffort = { signal, isBestEffort: true } as const;
    const signOut: SignOut = {
      provider,
      whyNot: async (request) => {
        const { outcome } = await send(request, world, leftMs(), bestEffort);
        return outcome.kind === "refused" ? outcome.seen : undefined;
      },
      withValidAccess: async (tokens) => {
        if (!isRenewable(tokens) || isGoodFor(tokens, world, 0)) return tokens;
        const username = settings.text("username");
        const refresh = requestRefresh(provider, tokens, username, world, leftMs(), bestEffort);
        return (await refresh).tokens ?? tokens;
      },
    };
    const ending = sessions.map((tokens) =>
      everywhere ? endEverywhere(signOut, tokens) : endHere(signOut, tokens)
    );
    return together(await Promise.all(ending));
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { ended: "here", text: `not at the provider: ${sentenceOf(error)}` };
  }
}

/** The requests of one logout. */
interface SignOut {
  readonly provider: ProviderSettings;
  /** Sends a request. @returns Why the provider did not do it; `undefined` if it did. */
  whyNot(request: ProviderRequest): Promise<string | undefined>;
  /** Signing out all devices takes an access token that is still valid. */
  withValidAccess(tokens: Tokens): Promise<Tokens>;
}

/** Only the newest tokens of each login: if refresh tokens rotate, no other ends it. */
function newestOfEach(held: readonly (Tokens | undefined)[]): readonly Tokens[] {
  const byLogin = new Map<unknown, Tokens>();
  for (const tokens of held) {
    if (tokens) byLogin.set(tokens.authenticatedAt ?? tokens.refreshToken?.reveal(), tokens);
  }
  return [...byLogin.values()];
}

/** How far one session ended, and why not further. */
interface Ended extends Pick<SignOutResult, "ended"> {
  readonly problems: readonly string[];
}

/** The result of all sessions: the least far end, and each problem once. */
function together(all: readonly Ended[]): SignOutResult {
  const ended = (["here", "provider", "everywhere"] as const)
    .find((each) => all.some((session) => session.ended === each)) ?? "here";
  const parts = new Set(all.flatMap(({ problems }) => problems));
  if (ended !== "here") {
    parts.add(`also at the provider${ended === "everywhere" ? ", on all devices" : ""}`);
  }
  return { ended, text: [...parts].join("; ") };
}

async function endHere({ provider, whyNot }: SignOut, tokens: Tokens): Promise<Ended> {
  if (!isRenewable(tokens)) return { ended: "here", problems: [ACCESS_TOKEN_STAYS] };
  const problem = await whyNot(revokeRequest(provider, tokens.refreshToken));
  return problem === undefined
    ? { ended: "provider", problems: [] }
    : { ended: "here", problems: [`not at the provider: ${problem}`] };
}

/** If the provider does not sign out all devices, this session ends all the same. */
async function endEverywhere(signOut: SignOut, tokens: Tokens): Promise<Ended> {
  const current = await signOut.withValidAccess(tokens);
  const whyNot = await signOut.whyNot(globalSignOutRequest(signOut.provider, current.accessToken));
  if (whyNot === undefined) return { ended: "everywhere", problems: [] };
  const { ended, problems } = await endHere(signOut, current);
  return { ended, problems: [`not on other devices: ${whyNot}`, ...problems] };
}
