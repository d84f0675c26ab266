/**
 * Sends requests to the identity provider: whether to send at all, and when to send again.
 * `requests.ts` and `token_request.ts` build the requests, `exchange.ts` makes one attempt,
 * `checks.ts` validates responses, and `refusals.ts` explains refusals.
 */
import { pauseBeforeRetryMs, retryAfterMs } from "../platform/backoff.ts";
import type { Outcome, ProviderRequest, RefusalCode } from "./protocol.ts";
import { exchange, mustNotRepeat } from "./exchange.ts";
import type { Hold } from "./hold.ts";
import { retry } from "../platform/retry.ts";
import type { World } from "../platform/world.ts";

/** The result of a request to the provider. */
export interface SendResult {
  readonly outcome: Outcome;
  /** The number of requests sent. */
  readonly attempts: number;
  /** Time of the last request, by the wall clock and by the monotonic clock. */
  readonly sentAt: number;
  readonly sentAtMonotonic: number;
  /** The provider's clock minus this machine's in milliseconds, if the response had a date. */
  readonly clockOffsetMs?: number | undefined;
  /** The time for which the provider asked to wait, in seconds, if it asked. */
  readonly retryAfterSeconds?: number | undefined;
}

export interface SendOptions {
  /** Ends the request. The reason of the signal is thrown. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether any caller is still waiting. If not, no further request is sent. Default: always true.
   */
  isWanted?(): boolean;
  /** The session's hold. Only logins and refreshes have one. */
  readonly hold?: Hold | undefined;
}

const MAX_ATTEMPTS = 4;
/** Longest pause after the first attempt. */
const FIRST_PAUSE_MS = 500;

/**
 * Sends a request and reads the response. After a transient failure, repeats the request with
 * jittered backoff within the time limit. A login or an answer to a challenge is repeated only if
 * the provider certainly did not check the password or the code.
 *
 * @param limitMs Time limit for all attempts together.
 * @throws {ConfigError} `PERMISSION` if nothing could be sent.
 */
export async function send(
  request: ProviderRequest,
  world: World,
  limitMs: number,
  options: SendOptions,
): Promise<SendResult> {
  const { signal, isWanted = () => true, hold } = options;
  // `resolveProvider()` has already loaded this file.
  const { readResponse } = await import("./checks.ts");
  const unsent = whyNotSent(request, world, limitMs, options);
  if (unsent) return unsent;

  const end = world.monotonic() + limitMs;
  const leftMs = () => end - world.monotonic();
  // If refresh tokens rotate, a response that is not read ends the session. The first attempt of a
  // refresh therefore gets most of the time.
  const attemptMs = mustNotRepeat(request) ? limitMs : Math.max(limitMs * 0.6, 1_000);
  let last: SendResult | undefined;
  return await retry<SendResult>(world, signal, async (count) => {
    if (last && !isWanted()) return { done: last };
    const ms = Math.min(attemptMs, leftMs());
    last = await attempt(request, world, ms, count, signal, readResponse);
    const { outcome } = last;
    if (outcome.kind !== "refused") return { done: last };
    const { retryAfterSeconds: asked } = last;
    const askedMs = asked === undefined ? undefined : asked * 1_000;
    const pauseMs = pauseBeforeRetryMs(askedMs, count, FIRST_PAUSE_MS, world.random);
    const mayRepeat = outcome.repeatable && count < MAX_ATTEMPTS && pauseMs < leftMs();
    if (mayRepeat && isWanted()) return { pauseMs, why: outcome.seen };
    hold?.startAfter(last, world);
    return { done: last };
  });
}

/** Returns a refusal if the request must not be sent. */
function whyNotSent(
  { url }: ProviderRequest,
  world: World,
  limitMs: number,
  { hold }: SendOptions,
): SendResult | undefined {
  const refused = (code: RefusalCode, why: string): SendResult => ({
    outcome: { kind: "refused", code, seen: `${why}, so nothing was sent` },
    attempts: 0,
    sentAt: world.now(),
    sentAtMonotonic: world.monotonic(),
  });
  if (limitMs <= 0) return refused("TIMEOUT", "the time limit had passed");
  const heldMs = hold?.leftMs(world) ?? 0;
  if (heldMs <= 0) return undefined;
  const throttled = refused("THROTTLED", `${url.host} asked for a pause that has not ended yet`);
  return { ...throttled, retryAfterSeconds: Math.ceil(heldMs / 1_000) };
}

/** Makes one attempt and logs it. */
async function attempt(
  request: ProviderRequest,
  world: World,
  limitMs: number,
  count: number,
  signal: AbortSignal | undefined,
  readResponse: typeof import("./checks.ts").readResponse,
): Promise<SendResult> {
  const sentAt = world.now();
  const sentAtMonotonic = world.monotonic();
  const response = await exchange(request, world, limitMs, signal);
  const [outcome, headers] = "kind" in response
    ? [response, undefined]
    : [readResponse(request, response), response.headers];
  const code = outcome.kind === "refused" ? outcome.code : undefined;
  const error = signal?.aborted ? "canceled" : code;
  world.log?.({
    event: "request",
    to: "provider",
    flow: request.flow,
    method: "POST",
    url: request.url.origin + request.url.pathname,
    ...(response.status !== undefined && { status: response.status }),
    ...(error !== undefined && { error }),
    milliseconds: Math.round(world.monotonic() - sentAtMonotonic),
    attempt: count,
  });
  signal?.throwIfAborted();
  const serverDate = Date.parse(headers?.get("date") ?? "");
  const waitMs = retryAfterMs(headers, world.now());
  return {
    outcome,
    attempts: count,
    sentAt,
    sentAtMonotonic,
    clockOffsetMs: Number.isNaN(serverDate) ? undefined : serverDate - world.now(),
    retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
  };
}
