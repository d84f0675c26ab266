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
   * Where the session was ended: only on this computer, also at the provider, or on all devices.
   */
  readonly ended: "here" | "provider" | "everywhere";
  /** Why the provider ended less than it was asked to. The text is the end of a sentence. */
  readonly problem?: string;
}

const NOT_TO_FOUND_HOST =
  "not on other devices: a portal token is not sent to the AUTH_URL of a .env that was found, unless " +
  `${ENV_FILE_VARIABLE} specifies the file`;

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
  const sessions = newestOfEach(held);
  if (sessions.length === 0) {
    return everywhere
      ? {
        ended: "here",
        problem: "not on other devices: the request needs a token, and none is left",
      }
      : { ended: "here" };
  }
  // An access token cannot be revoked: it stays valid until it expires.
  if (!everywhere && !sessions.some(isRenewable)) return { ended: "here" };
  try {
    const provider = await resolveProvider("sign-out", settings);
    const end = world.monotonic() + Math.min(LIMIT_MS, provider.timeoutMs);
    const leftMs = () => end - world.monotonic();

    const whyNot = async (request: ProviderRequest): Promise<string | undefined> => {
      const { outcome } = await send(request, world, leftMs(), { signal });
      return outcome.kind === "refused" ? outcome.seen : undefined;
    };

    const endHere = async (tokens: Tokens): Promise<Ended> => {
      if (!isRenewable(tokens)) return { ended: "here", problems: [] };
      const problem = await whyNot(revokeRequest(provider, tokens.refreshToken));
      return problem === undefined
        ? { ended: "provider", problems: [] }
        : { ended: "here", problems: [`not at the provider: ${problem}`] };
    };

    /** Signs out all devices. If the provider refuses this, ends at least this session. */
    const endEverywhere = async (tokens: Tokens): Promise<Ended> => {
      // The prompt for a portal string shows the hosts of the API, not this host.
      if (settings.hasFoundEndpoint && !isRenewable(tokens) && !tokens.learned.provider) {
        return { ended: "here", problems: [NOT_TO_FOUND_HOST] };
      }
      let current = tokens;
      // Signing out all devices requires a valid access token.
      if (isRenewable(tokens) && !isGoodFor(tokens, world, 0)) {
        const username = settings.text("username");
        const limitMs = leftMs();
        const refresh = requestRefresh(provider, tokens, username, world, limitMs, { signal });
        current = (await refresh).tokens ?? tokens;
      }
      const problem = await whyNot(globalSignOutRequest(provider, current.accessToken));
      if (problem === undefined) return { ended: "everywhere", problems: [] };
      const { ended, problems } = await endHere(current);
      return { ended, problems: [`not on other devices: ${problem}`, ...problems] };
    };

    return together(await Promise.all(sessions.map(everywhere ? endEverywhere : endHere)));
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

/** The place where one session was ended, and the problems. */
interface Ended extends Pick<SignOutResult, "ended"> {
  readonly problems: readonly string[];
}

/**
 * Combines the results of all sessions: the place where all of them were ended, and each problem
 * once.
 */
function together(all: readonly Ended[]): SignOutResult {
  const ended = (["here", "provider", "everywhere"] as const)
    .find((each) => all.some((session) => session.ended === each)) ?? "here";
  const problems = new Set(all.flatMap(({ problems }) => problems));
  return problems.size === 0 ? { ended } : { ended, problem: [...problems].join("; ") };
}
