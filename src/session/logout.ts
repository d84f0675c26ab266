import type { SignOutResult } from "../provider/sign_out.ts";
import type { TokenResult } from "../provider/token_request.ts";
import type { World } from "../platform/world.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";

/**
 * What a logout requests from the provider: nothing, the revocation of this session, or the end of
 * all sessions of the account.
 */
export type RemoteLogout = "keep" | "revoke" | "everywhere";

/** Maximum time to wait for the response to a refresh in progress. */
const LATE_RESPONSE_MS = 3_000;

/**
 * Ends sessions at the provider.
 *
 * @param ended The tokens of these sessions.
 * @param late The response to a refresh in progress. The tokens in it are revoked, too.
 */
export async function signOutAtProvider(
  configuration: Configuration,
  ended: readonly (Tokens | undefined)[],
  late: Promise<TokenResult> | undefined,
  everywhere: boolean,
  signal: AbortSignal | undefined,
): Promise<SignOutResult> {
  const lateTokens = late && await tokensWithin(late, configuration.world, signal);
  try {
    // Loaded on demand, because few processes log out.
    const { endAtProvider } = await import("../provider/sign_out.ts");
    return await endAtProvider(configuration, [...ended, lateTokens], everywhere, signal);
  } catch (error) {
    if (!signal?.aborted) throw error;
    return { ended: "here", text: "not at the provider: the wait for the provider was canceled" };
  }
}

async function tokensWithin(
  response: Promise<TokenResult>,
  world: World,
  signal: AbortSignal | undefined,
): Promise<Tokens | undefined> {
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const tokens = await Promise.race([
    response.then((late) => late.tokens, () => undefined),
    world.sleep(LATE_RESPONSE_MS, either).then(() => undefined),
  ]);
  stop.abort();
  return tokens;
}
