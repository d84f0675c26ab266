import { pauseBeforeRetryMs, retryAfterMs } from "../platform/backoff.ts";
import { directClient, networkReason } from "../platform/transport.ts";
import type { Outcome, ProviderAnswer, ProviderRequest, Refused } from "./protocol.ts";
import { type ConfigError, isTransient, missingPermission } from "../errors/errors.ts";
import { loadChecks } from "./provider_settings.ts";
import { mayReach } from "../settings/permissions.ts";
import { unlessAborted } from "../platform/abort.ts";
import { Pauses } from "../platform/pauses.ts";
import type { World } from "../platform/world.ts";

/** The outcome of a request to the provider. */
export interface Delivery {
  readonly outcome: Outcome;
  /** How many requests were sent. */
  readonly attempts: number;
  /** When the last request was sent, by the wall and the monotonic clock. */
  readonly sentAt: number;
  readonly sentAtMonotonic: number;
  /** The provider's clock minus this machine's in milliseconds, if the answer had a date. */
  readonly clockOffsetMs: number | undefined;
  /** Seconds to wait, if the provider asked for it. */
  readonly retryAfterSeconds: number | undefined;
}

/** Those who wait for an answer of the provider. */
export interface Waiters {
  /** Ends the request early; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Whether any of them still waits. If not, nothing more is sent. Default: yes. */
  isWanted?(): boolean;
  /** Whether they can do without an answer: then its Retry-After holds back no later call. Default: no. */
  readonly isOptional?: boolean;
}

/** What a request is for, in the words of messages. */
export const DOING: Readonly<Record<ProviderRequest["flow"], string>> = {
  login: "log in",
  challenge: "log in",
  refresh: "refresh the session",
  device: "confirm the device",
  "sign-out": "tell the provider",
};

/** Whether a second try could count as a second password or code. */
function mustNotRepeat({ flow }: ProviderRequest): boolean {
  return flow === "login" || flow === "challenge";
}

const MAX_ATTEMPTS = 4;
/** The longest pause after the first attempt: a quota needs more time than a failure of the server. */
const FIRST_PAUSE_MS = 200;
const FIRST_PAUSE_THROTTLED_MS = 1_000;
/** A real answer is a few kilobytes. */
const MAX_ANSWER_BYTES = 1_048_576;
/** A timer that is later than this belongs to a process that was stopped. */
const STOPPED_MS = 1_000;
/** Retry-After holds back later calls for at most this long. */
const MAX_HOLD_MS = 900_000;

/** Until when to send nothing, by endpoint. One map for each clock, because their times do not compare. */
const holds = new WeakMap<() => number, Map<string, number>>();

/**
 * Sends a request and reads its answer. After a transient failure it sends again, with jittered
 * backoff, inside the deadline and after Retry-After, also the Retry-After of an earlier call. A login
 * or an answer to a challenge is sent again only if it was certainly not checked. No redirect is followed.
 *
 * @param deadlineMs How long all of it may take.
 * @throws {ConfigError} `PERMISSION`, `PACKAGE_UNAVAILABLE`: nothing was sent.
 */
export async function send(
  request: ProviderRequest,
  world: World,
  deadlineMs: number,
  { signal, isWanted = () => true, isOptional = false }: Waiters,
): Promise<Delivery> {
  const { readAnswer } = await loadChecks(DOING[request.flow]);
  const started = world.monotonic();
  const left = () => deadlineMs - (world.monotonic() - started);
  // A login or a code without an answer may have been checked, so there is only one attempt. Other
  // requests may be sent again. A refresh waits long first: where refresh tokens rotate, an answer that
  // nobody reads is lost.
  const attemptMs = mustNotRepeat(request) ? deadlineMs : Math.max(deadlineMs * 0.6, 1_000);
  const clockHolds = holds.get(world.monotonic) ?? new Map<string, number>();
  holds.set(world.monotonic, clockHolds);
  const holdMs = (clockHolds.get(request.url.href) ?? -Infinity) - started;
  if (deadlineMs <= 0) {
    return unsent("TIMEOUT", "the time for it was over, so nothing was sent", world);
  }
  if (holdMs > 0) {
    const seen = `${request.url.host} asked for a pause that is not over, so nothing was sent`;
    return unsent("THROTTLED", seen, world, Math.ceil(holdMs / 1_000));
  }
  if (!isWanted()) throw new DOMException("Nobody waits for the answer", "AbortError");
  const pauses = new Pauses(world);
  for (let attempt = 1;; attempt++) {
    signal?.throwIfAborted();
    const sentAt = world.now();
    const sentAtMonotonic = world.monotonic();
    const answer = await sendOnce(request, world, Math.min(attemptMs, left()), signal);
    signal?.throwIfAborted();
    const { outcome, headers } = "kind" in answer
      ? { outcome: answer, headers: undefined }
      : { outcome: readAnswer(request, answer), headers: answer.headers };
    const serverDate = Date.parse(headers?.get("date") ?? "");
    const waitMs = retryAfterMs(headers, world.now());
    const delivery: Delivery = {
      outcome,
      attempts: attempt,
      sentAt,
      sentAtMonotonic,
      clockOffsetMs: Number.isNaN(serverDate) ? undefined : serverDate - world.now(),
      retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
    };
    if (outcome.kind !== "refused") return delivery;
    const firstMs = outcome.code === "THROTTLED" ? FIRST_PAUSE_THROTTLED_MS : FIRST_PAUSE_MS;
    const pause = pauseBeforeRetryMs(waitMs, attempt, firstMs, world.random);
    const isLast = !outcome.repeatable || attempt >= MAX_ATTEMPTS || pause >= left();
    if (isLast || !isWanted()) {
      if (waitMs !== undefined && isTransient(outcome.code) && !isOptional) {
        clockHolds.set(request.url.href, world.monotonic() + Math.min(waitMs, MAX_HOLD_MS));
      }
      return delivery;
    }
    await pauses.pause(pause, outcome.seen, signal);
    if (!isWanted()) return delivery;
  }
}

/** The outcome where nothing is sent. */
function unsent(
  code: "THROTTLED" | "TIMEOUT",
  seen: string,
  world: World,
  retryAfterSeconds?: number,
): Delivery {
  return {
    outcome: { kind: "refused", code, repeatable: true, isFinal: false, seen },
    attempts: 0,
    sentAt: world.now(),
    sentAtMonotonic: world.monotonic(),
    clockOffsetMs: undefined,
    retryAfterSeconds,
  };
}

/** Sends the request once. */
async function sendOnce(
  request: ProviderRequest,
  world: World,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<ProviderAnswer | Refused> {
  // The permission is asked for first: if the runtime refuses to send a Blob, the process never ends.
  if (world.fetch === undefined && !mayReach(request.url)) throw notPermitted(request);
  const controller = new AbortController();
  const stop = () => controller.abort();
  // Not setTimeout(): its first use in a process takes longer than a request. Without its listener this
  // timer does not keep the process alive.
  const deadline = world.timeout(Math.max(Math.ceil(timeoutMs), 1));
  const begun = world.monotonic();
  const onDeadline = () => {
    const lateMs = world.monotonic() - begun - timeoutMs;
    if (lateMs < STOPPED_MS) return stop();
    // The process was stopped meanwhile. An answer that came has not been read yet, and must not be lost.
    world.timeout(STOPPED_MS).addEventListener("abort", stop);
  };
  deadline.addEventListener("abort", onDeadline);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  // No connection is reused: when a reused one drops, the runtime silently sends the request again.
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
        // A Blob, because Deno 2.7 to 2.9.5 silently send a text again when any connection drops.
        body: world.fetch === undefined ? new Blob([body]) : body,
        redirect: "manual",
        signal: controller.signal,
        ...(client && { client }),
      }),
    );
    const text = await unlessAborted(controller.signal, readText(response));
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    return failure(request, deadline.aborted, error);
  } finally {
    deadline.removeEventListener("abort", onDeadline);
    signal?.removeEventListener("abort", stop);
    client?.close();
  }
}

async function readText(response: Response): Promise<string> {
  const length = Number(response.headers.get("content-length") ?? Infinity);
  const packed = response.headers.has("content-encoding");
  if (!packed && length <= MAX_ANSWER_BYTES) return await response.text();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) break;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function notPermitted(request: ProviderRequest): ConfigError {
  return missingPermission(`reach the identity provider at ${request.url.host}`, {
    command: request.command(),
  });
}

/** What an error of `fetch` means. Its text is not used: it may contain URLs and headers. */
function failure(request: ProviderRequest, timedOut: boolean, error: unknown): Refused {
  const host = request.url.host;
  if (error instanceof Deno.errors.NotCapable) throw notPermitted(request);
  if (timedOut) {
    return {
      kind: "refused",
      code: "TIMEOUT",
      repeatable: !mustNotRepeat(request),
      isFinal: false,
      seen: `no answer from ${host}`,
    };
  }
  const reason = networkReason(error);
  return {
    kind: "refused",
    code: "UNREACHABLE",
    // If the provider may have read the request, a password is not sent again.
    repeatable: reason.mayPass && (reason.isUnsent || !mustNotRepeat(request)),
    isFinal: false,
    seen: `${host}: ${reason.words}`,
    words: reason.fix === undefined ? undefined : { fix: reason.fix },
    cause: error,
  };
}
