import { send } from "./send.ts";
import type { ProviderRequest } from "./protocol.ts";
import { globalSignOutRequest, revokeRequest } from "./requests.ts";
import { resolveProvider } from "./provider.ts";
import { requestRefresh } from "./token_request.ts";
import type { World } from "../platform/world.ts";
import { AuthError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, isRenewable, type Tokens } from "./tokens.ts";
import { ENV_FILE_VARIABLE } from "../settings/options.ts";
import type { Settings } from "../settings/settings.ts";

/**
 * Time limit for all requests to the provider during a logout. The limit is short, because the
 * tokens on this computer have already been removed.
 */
const LIMIT_MS = 3_000;

/** The account whose sessions end. */
export interface Account {
  readonly settings: Settings;
  readonly world: World;
}

/** The result of a logout at the provider. */
export interface SignOutResult {
  /**
   * Where all sessions were ended: only on this computer, also at the provider, or on all devices.
   */
  readonly ended: "here" | "provider" | "everywhere";
  /** Why the provider ended less than it was asked to. The text is the end of a sentence. */
  readonly problem?: string | undefined;
}

const NOT_TO_FOUND_HOST =
  "a portal string is not sent to the AUTH_URL of a .env that was found by search; to allow it, set " +
  `${ENV_FILE_VARIABLE} to the file`;

/**
 * Ends sessions at the provider, as far as the provider supports this. The tokens have already been
 * removed from this computer, so a failure is part of the result, not an error.
 *
 * @param held All tokens that this logout ends. Within each login, the newest comes last.
 * @param everywhere Whether to sign the account out on all devices.
 * @throws The signal's reason, if the signal is aborted.
 */
export async function endAtProvider(
  { settings, world }: Account,
  held: readonly (Tokens | undefined)[],
  everywhere: boolean,
  signal: AbortSignal | undefined,
): Promise<SignOutResult> {
  // An access token cannot be revoked: it stays valid until it expires.
  const sessions = newestOfEach(held).filter((tokens) => everywhere || isRenewable(tokens));
  if (sessions.length === 0) {
    const none = "not on other devices, because the request needs a token and none is left";
    return { ended: "here", problem: everywhere ? none : undefined };
  }
  try {
    const provider = await resolveProvider("sign-out", settings);
    const end = world.monotonic() + Math.min(LIMIT_MS, provider.timeoutMs);
    const leftMs = () => end - world.monotonic();
    const problems = new Set<string>();

    const whyNot = async (request: ProviderRequest): Promise<string | undefined> => {
      const { outcome } = await send(request, world, leftMs(), { signal });
      return outcome.kind === "refused" ? outcome.seen : undefined;
    };

    const whyNotEverywhere = async (tokens: Tokens): Promise<string | undefined> => {
      // The prompt for a portal string shows the hosts of the API, not this host.
      const isForeign = !isRenewable(tokens) && !tokens.learned.provider;
      if (isForeign && settings.hasFoundEndpoint) return NOT_TO_FOUND_HOST;
      return await whyNot(globalSignOutRequest(provider, tokens.accessToken));
    };

    /** Ends a session. If the provider does not sign out all devices, ends at least this session. */
    const endOne = async (tokens: Tokens): Promise<SignOutResult["ended"]> => {
      let current = tokens;
      if (everywhere) {
        // Signing out all devices requires a valid access token.
        if (isRenewable(tokens) && !isGoodFor(tokens, world, 0)) {
          const username = settings.text("username");
          const limitMs = leftMs();
          const refresh = requestRefresh(provider, tokens, username, world, limitMs, { signal });
          current = (await refresh).tokens ?? tokens;
        }
        const problem = await whyNotEverywhere(current);
        if (problem === undefined) return "everywhere";
        problems.add(`not on other devices: ${problem}`);
      }
      if (!isRenewable(current)) return "here";
      const problem = await whyNot(revokeRequest(provider, current.refreshToken));
      if (problem === undefined) return "provider";
      problems.add(`not at the provider: ${problem}`);
      return "here";
    };

    const ends = await Promise.all(sessions.map(endOne));
    const ended = (["here", "provider"] as const).find((each) => ends.includes(each));
    return { ended: ended ?? "everywhere", problem: [...problems].join("; ") || undefined };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { ended: "here", problem: `not at the provider: ${sentenceOf(error)}` };
  }
}

/**
 * Returns the newest tokens of each login. If refresh tokens rotate, only the newest ones can end
 * the login.
 */
function newestOfEach(held: readonly (Tokens | undefined)[]): readonly Tokens[] {
  const byLogin = new Map<unknown, Tokens>();
  for (const tokens of held) {
    if (tokens) byLogin.set(tokens.authenticatedAt ?? tokens.refreshToken?.reveal(), tokens);
  }
  return [...byLogin.values()];
}
