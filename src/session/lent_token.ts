import { durationText } from "../errors/amounts.ts";
import { ConfigError, ProviderError } from "../errors/errors.ts";
import { unlessAborted } from "../platform/abort.ts";
import { readClaims } from "../platform/claims.ts";
import { Secret } from "../platform/secret.ts";
import { isGoodFor, makeTokens, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import { readPortalToken, SHORTEST_OPAQUE_TOKEN } from "./portal_token.ts";

const PROBLEM = "Cannot get a token from the option token";
const RETURN_A_TOKEN = "return the token as text, or { token, expiresAt } with a Date";

/**
 * Calls the function in the option `token`, and returns the token that it lends. Does not change
 * the session.
 *
 * @throws {ConfigError} `TOKEN_UNAVAILABLE` if the function fails or returns no valid token.
 * @throws {ProviderError} `TIMEOUT` if the function does not end in time.
 */
export async function lentTokens(
  configuration: Configuration,
  limitMs: number,
  signal?: AbortSignal,
): Promise<Tokens> {
  const { world } = configuration;
  const lent = await callFunction(configuration, limitMs, signal);
  const { token, expiresAt } = typeof lent === "object" ? lent : { token: lent };
  const accessToken = readToken(token);
  if (accessToken === undefined) {
    throw unavailable("the function returned no access token", RETURN_A_TOKEN);
  }
  if (
    expiresAt !== undefined && !(expiresAt instanceof Date && !Number.isNaN(expiresAt.getTime()))
  ) {
    throw unavailable("the function returned an expiresAt that is no valid Date", RETURN_A_TOKEN);
  }
  const claims = readClaims(accessToken.reveal());
  const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
  const end = expiresAt?.getTime() ?? claimed;
  const tokens = makeTokens({ accessToken, expiresAt: end, source: "token", claims }, world);
  if (isGoodFor(tokens, world, 0)) return tokens;
  const ago = durationText(world.now() - (end ?? 0));
  throw unavailable(
    `the function returned a token that expired ${ago} ago by this computer's clock`,
    "return a current token, or correct the clock",
  );
}

/** The result of the function. A notebook does not check its type. */
type Lent = string | { readonly token?: unknown; readonly expiresAt?: unknown };

async function callFunction(
  { options, world }: Configuration,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<Lent> {
  const limit = world.timeout(limitMs);
  const end = signal ? AbortSignal.any([signal, limit]) : limit;
  try {
    const lent = Promise.try(() => options.token?.({ signal: end }));
    return await unlessAborted(end, lent) ?? "";
  } catch (error) {
    signal?.throwIfAborted();
    if (!limit.aborted) {
      const fix = "call the function by itself to see its error";
      throw unavailable("the function failed", fix, error);
    }
    throw new ProviderError(
      "TIMEOUT",
      `${PROBLEM}: the function did not end within ${limitMs / 1_000} seconds`,
      "find out what the function waits for, or increase AUTH_TIMEOUT_MS (timeoutMs)",
    );
  }
}

function readToken(text: unknown): Secret | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const token = readPortalToken(text, { isToken: true });
    return token.length < SHORTEST_OPAQUE_TOKEN ? undefined : new Secret(token);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** @param cause The function's error. Its message may contain a secret, so the message is dropped. */
function unavailable(problem: string, fix: string, cause?: unknown): ConfigError {
  return new ConfigError("TOKEN_UNAVAILABLE", `${PROBLEM}: ${problem}`, fix, cause);
}
