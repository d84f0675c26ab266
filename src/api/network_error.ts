/** Explains why a request got no response. The error shows neither headers nor a query. */
import { showsToken } from "./headers.ts";
import type { PreparedCall } from "./prepared_call.ts";
import { asMisuse, AuthError, missingPermission, UnreachableError } from "../errors/errors.ts";
import { networkReason } from "../platform/transport.ts";

const CHECK_NETWORK = "check the address, the network and any proxy, then try again";

/**
 * Makes the error for a host that cannot be reached. For a redirect, the message shows only the
 * origin, because the rest of the address may be secret.
 */
function networkError(
  call: PreparedCall,
  { origin }: URL,
  reason: string,
  fix = CHECK_NETWORK,
  cause?: Error,
): TypeError {
  const first = new URL(call.address);
  const asked = first.origin + first.pathname;
  const where = origin === first.origin ? asked : `${origin}, to which ${asked} redirected`;
  return new UnreachableError(`Cannot reach ${where} (${reason})`, fix, cause);
}

/**
 * Replaces an error that may reveal headers or a query. The runtime's errors quote headers and
 * queries, and a `fetch` passed as an option may attach them to its errors.
 */
export function safeError(
  error: unknown,
  { headers, signal }: RequestInit,
  url: URL,
  call: PreparedCall,
): unknown {
  if (showsToken(error, headers)) {
    return signal?.aborted ? signal.reason : networkError(call, url, "the request failed");
  }
  if (signal?.aborted || error instanceof AuthError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    return missingPermission(`reach the API at ${url.host}`, `--allow-net=${url.host}`);
  }
  if (!(error instanceof TypeError)) return error;
  const cause = error.cause instanceof Error ? error.cause.message : "";
  const { words, fix, isKnown } = networkReason(error, url);
  // The runtime's own error is kept if it explains a misuse of `fetch`, such as a body that was
  // already read.
  if (!isKnown && !/header|url|:\/\//i.test(`${error.message} ${cause}`)) return asMisuse(error);
  return networkError(call, url, words, fix, error);
}
