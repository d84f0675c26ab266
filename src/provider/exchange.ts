/** One exchange with the identity provider: a request, and its response or the reason for none. */
import { missingPermission } from "../errors/errors.ts";
import { onAbort, unlessAborted } from "../platform/abort.ts";
import { readUpTo } from "../platform/body.ts";
import { directClient, networkReason } from "../platform/transport.ts";
import type { World } from "../platform/world.ts";
import type { ProviderRequest, ProviderResponse, Refused } from "./protocol.ts";

/** Maximum size of a response. The response to a login is a few kilobytes long. */
const MAX_RESPONSE_BYTES = 1_048_576;
/**
 * When a suspended process continues, the time limit may be over although a response has arrived.
 * This pause after the time limit is for reading that response, so that a new refresh token is not
 * lost.
 */
const GRACE_MS = 100;

/** Whether the provider could count a repeated request as another wrong password or code. */
export function mustNotRepeat({ flow }: ProviderRequest): boolean {
  return flow === "login" || flow === "challenge";
}

/**
 * Sends a request once and reads the response to its end. Does not follow redirects.
 *
 * @throws {ConfigError} `PERMISSION` if the host may not be reached.
 */
export async function exchange(
  request: ProviderRequest,
  world: World,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<ProviderResponse | Refused> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  // setTimeout() is not used: its first use in a process takes longer than a request.
  const timer = world.timeout(Math.max(Math.ceil(limitMs), 1));
  const stopTimer = onAbort(timer, () => onAbort(world.timeout(GRACE_MS), stop));
  const stopListening = onAbort(signal, stop);
  try {
    // The runtime silently repeats a request whose reused connection drops, so connections are not
    // reused.
    const options = { poolMaxIdlePerHost: 0 };
    using client = world.fetch === undefined
      ? directClient(request.url, options) ?? Deno.createHttpClient(options)
      : undefined;
    const response = await unlessAborted(
      controller.signal,
      (world.fetch ?? fetch)(request.url, {
        method: "POST",
        headers: request.headers,
        body: request.body.reveal(),
        redirect: "manual",
        signal: controller.signal,
        ...(client && { client }),
      }),
    );
    const { bytes } = await readUpTo(
      response.body,
      MAX_RESPONSE_BYTES,
      (piece) => unlessAborted(controller.signal, piece),
    );
    const { status, headers } = response;
    return { status, headers, text: new TextDecoder().decode(bytes) };
  } catch (error) {
    return failure(request, timer.aborted, error);
  } finally {
    stopTimer();
    stopListening();
  }
}

/** Classifies an error of `fetch`. The error's text is not used: it may contain URLs and headers. */
function failure(
  request: ProviderRequest,
  timedOut: boolean,
  error: unknown,
): Refused {
  const host = request.url.host;
  if (error instanceof Deno.errors.NotCapable) {
    throw missingPermission(`reach the identity provider at ${host}`, `--allow-net=${host}`);
  }
  const mayRepeat = !mustNotRepeat(request);
  if (timedOut) {
    const seen = `no response from ${host}`;
    return { kind: "refused", code: "TIMEOUT", repeatable: mayRepeat, seen };
  }
  const { mayPass, isUnsent, words, fix } = networkReason(error, request.url);
  return {
    kind: "refused",
    code: "UNREACHABLE",
    repeatable: mayPass && (isUnsent || mayRepeat),
    seen: `${host}: ${words}`,
    advice: fix === undefined ? undefined : { fix },
    cause: error,
  };
}
