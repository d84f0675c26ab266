/**
 * Every request to the identity provider is sent here. `requests.ts` and `token_request.ts` build
 * requests, `checks.ts` validates responses, and `refusals.ts` explains refusals.
 */
import { pauseBeforeRetryMs, retryAfterMs } from "../platform/backoff.ts";
import { readUpTo } from "../platform/body.ts";
import { directClient, networkReason } from "../platform/transport.ts";
import {
  DOING,
  type Outcome,
  type ProviderRequest,
  type ProviderResponse,
  type Refused,
} from "./protocol.ts";
import { isTransient, missingPermission } from "../errors/errors.ts";
import { loadChecks } from "./provider.ts";
import { onAbort, unlessAborted } from "../platform/abort.ts";
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
  /**
   * Whether the caller can do without the result. If so, a Retry-After in the response does not
   * delay later calls. Default: false.
   */
  readonly isBestEffort?: boolean;
}

/** Whether the provider could count a repeated request as another wrong password or code. */
function mustNotRepeat({ flow }: ProviderRequest): boolean {
  return flow === "login" || flow === "challenge";
}

const MAX_ATTEMPTS = 4;
/**
 * Longest pause after the first attempt. After `THROTTLED`, the pause is longer, because a quota
 * takes more time to recover than a server.
 */
const FIRST_PAUSE_MS = 200;
const FIRST_PAUSE_THROTTLED_MS = 1_000;
/** Maximum size of a response. The response to a login is a few kilobytes long. */
const MAX_RESPONSE_BYTES = 1_048_576;
/**
 * When a stopped process resumes, the time limit may have passed while an unread response was
 * waiting. This pause after the timer lets the response be read first, so that a new refresh token
 * is not lost.
 */
const GRACE_MS = 100;
/** Maximum time for which a Retry-After delays later calls. */
const MAX_HOLD_MS = 900_000;

/**
 * Deno 2.7 to 2.9.5 silently resends a text body when any connection drops, but never a Blob. Other
 * versions get a text body, which they send faster than a Blob.
 */
const RESENDS_TEXT = /^2\.([78]\.|9\.[0-5]$)/.test(Deno.version.deno);

/**
 * The time from which each endpoint accepts requests again. Tests have their own clocks, so the
 * times are kept separately for each monotonic clock.
 */
const holds = new WeakMap<() => number, Map<string, number>>();

/**
 * Sends a request and reads the response. After a transient failure, repeats the request with
 * jittered backoff within the time limit. Sends nothing until a Retry-After has passed, even if an
 * earlier call received it. A login or an answer to a challenge is repeated only if the provider
 * certainly did not check the password or the code. Does not follow redirects.
 *
 * @param limitMs Time limit for all attempts together.
 * @throws {ConfigError} `PERMISSION` or `PACKAGE_UNAVAILABLE` if nothing could be sent.
 */
export async function send(
  request: ProviderRequest,
  world: World,
  limitMs: number,
  { signal, isWanted = () => true, isBestEffort = false }: SendOptions,
): Promise<SendResult> {
  const { readResponse } = await loadChecks(DOING[request.flow]);
  const started = world.monotonic();
  const leftMs = () => limitMs - (world.monotonic() - started);
  // If refresh tokens rotate, a response that is not read ends the session. The first attempt of a
  // refresh therefore gets most of the time.
  const attemptMs = mustNotRepeat(request) ? limitMs : Math.max(limitMs * 0.6, 1_000);
  const hold = holds.get(world.monotonic) ?? new Map<string, number>();
  holds.set(world.monotonic, hold);
  const holdMs = (hold.get(request.url.href) ?? -Infinity) - started;
  const unsent = (refused: Pick<Refused, "code" | "seen">): SendResult => ({
    outcome: { kind: "refused", repeatable: true, ...refused },
    attempts: 0,
    sentAt: world.now(),
    sentAtMonotonic: started,
  });
  if (limitMs <= 0) {
    return unsent({ code: "TIMEOUT", seen: "the time limit had passed, so nothing was sent" });
  }
  if (holdMs > 0) {
    const seen =
      `${request.url.host} asked for a pause that has not passed yet, so nothing was sent`;
    const retryAfterSeconds = Math.ceil(holdMs / 1_000);
    return { ...unsent({ code: "THROTTLED", seen }), retryAfterSeconds };
  }
  let last: SendResult | undefined;
  return await retry<SendResult>(world, signal, async (attempts) => {
    if (!isWanted()) {
      if (last) return { done: last };
      throw new DOMException("No caller waits for the response", "AbortError");
    }
    const sentAt = world.now();
    const sentAtMonotonic = world.monotonic();
    const response = await sendOnce(request, world, Math.min(attemptMs, leftMs()), signal);
    const [outcome, headers] = "kind" in response
      ? [response, undefined]
      : [readResponse(request, response), response.headers];
    world.log?.({
      event: "request",
      to: "provider",
      flow: request.flow,
      method: "POST",
      url: request.url.origin + request.url.pathname,
      ...("kind" in response ? {} : { status: response.status }),
      ...(signal?.aborted
        ? { error: "canceled" }
        : outcome.kind === "refused"
        ? { error: outcome.code }
        : {}),
      milliseconds: Math.round(world.monotonic() - sentAtMonotonic),
      attempt: attempts,
    });
    signal?.throwIfAborted();
    const serverDate = Date.parse(headers?.get("date") ?? "");
    const waitMs = retryAfterMs(headers, world.now());
    last = {
      outcome,
      attempts,
      sentAt,
      sentAtMonotonic,
      clockOffsetMs: Number.isNaN(serverDate) ? undefined : serverDate - world.now(),
      retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
    };
    if (outcome.kind !== "refused") return { done: last };
    const firstMs = outcome.code === "THROTTLED" ? FIRST_PAUSE_THROTTLED_MS : FIRST_PAUSE_MS;
    const pauseMs = pauseBeforeRetryMs(waitMs, attempts, firstMs, world.random);
    const mayRepeat = outcome.repeatable && attempts < MAX_ATTEMPTS && pauseMs < leftMs();
    if (mayRepeat && isWanted()) return { pauseMs, why: outcome.seen };
    if (waitMs !== undefined && isTransient(outcome.code) && !isBestEffort) {
      hold.set(request.url.href, world.monotonic() + Math.min(waitMs, MAX_HOLD_MS));
    }
    return { done: last };
  });
}

async function sendOnce(
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
  // The runtime silently repeats a request whose reused connection drops, so connections are not
  // reused.
  const options = { poolMaxIdlePerHost: 0 };
  const client = world.fetch === undefined
    ? directClient(request.url, options) ?? Deno.createHttpClient(options)
    : undefined;
  const body = request.body.reveal();
  try {
    const response = await unlessAborted(
      controller.signal,
      (world.fetch ?? fetch)(request.url, {
        method: "POST",
        headers: request.headers,
        body: RESENDS_TEXT && world.fetch === undefined ? new Blob([body]) : body,
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
    client?.close();
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
  const { mayPass, isUnsent, words, fix } = networkReason(error);
  return {
    kind: "refused",
    code: "UNREACHABLE",
    repeatable: mayPass && (isUnsent || mayRepeat),
    seen: `${host}: ${words}`,
    advice: fix === undefined ? undefined : { fix },
    cause: error,
  };
}
