import { directClient, networkReason } from "../http/transport.ts";
import type { Outcome, ProviderAnswer, ProviderRequest, Refused } from "./protocol.ts";
import { ConfigError, isTransient } from "../errors/errors.ts";
import { loadChecks } from "./provider_settings.ts";
import type { World } from "../runtime/world.ts";

/** What became of a request to the provider. */
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
  { signal, isWanted = () => true }: Waiters = {},
): Promise<Delivery> {
  const { readAnswer } = await loadChecks(DOING[request.flow]);
  const started = world.monotonic();
  const left = () => deadlineMs - (world.monotonic() - started);
  // A login or a code without an answer may have been checked, so there is only one attempt. Others may be
  // sent again, but a refresh late: where refresh tokens rotate, an answer that nobody waits for is lost.
  const attemptMs = mustNotRepeat(request) ? deadlineMs : Math.max(deadlineMs * 0.6, 1_000);
  const clockHolds = holds.get(world.monotonic) ?? new Map<string, number>();
  holds.set(world.monotonic, clockHolds);
  const holdMs = (clockHolds.get(request.url.href) ?? -Infinity) - started;
  if (holdMs > 0) return held(request, world, holdMs);
  if (!isWanted()) throw new DOMException("Nobody waits for the answer", "AbortError");
  for (let attempt = 1;; attempt++) {
    signal?.throwIfAborted();
    const sentAt = world.now();
    const sentAtMonotonic = world.monotonic();
    const answer = await ask(request, world, Math.min(attemptMs, left()), signal);
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
    const base = outcome.code === "THROTTLED" ? 1_000 : 200;
    const backoff = base * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    const pause = waitMs === undefined ? backoff : waitMs + backoff * 0.2;
    const isLast = !outcome.repeatable || attempt >= MAX_ATTEMPTS || pause >= left();
    if (isLast || !isWanted()) {
      if (waitMs !== undefined && isTransient(outcome.code)) {
        clockHolds.set(request.url.href, world.monotonic() + Math.min(waitMs, MAX_HOLD_MS));
      }
      return delivery;
    }
    await world.sleep(pause, signal);
    if (!isWanted()) return delivery;
  }
}

/** The outcome where nothing is sent, because the provider asked for a pause that is not over. */
function held(request: ProviderRequest, world: World, holdMs: number): Delivery {
  return {
    outcome: {
      kind: "refused",
      code: "THROTTLED",
      repeatable: true,
      isFinal: false,
      seen: `${request.url.host} asked for a pause that is not over, so nothing was sent`,
    },
    attempts: 0,
    sentAt: world.now(),
    sentAtMonotonic: world.monotonic(),
    clockOffsetMs: undefined,
    retryAfterSeconds: Math.ceil(holdMs / 1_000),
  };
}

/** Sends the request once. */
async function ask(
  request: ProviderRequest,
  world: World,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<ProviderAnswer | Refused> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  // Not setTimeout(): its first use in a process takes longer than a request. Without its listener this
  // timer does not keep the process alive.
  const deadline = AbortSignal.timeout(Math.max(Math.ceil(timeoutMs), 1));
  const begun = performance.now();
  const onDeadline = () => {
    const lateMs = performance.now() - begun - timeoutMs;
    if (lateMs < STOPPED_MS) return stop();
    // The process was stopped meanwhile. An answer that came has not been read yet, and must not be lost.
    AbortSignal.timeout(STOPPED_MS).addEventListener("abort", stop);
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
    const response = await orAborted(
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
    const text = await orAborted(controller.signal, readText(response));
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    return failure(request, deadline.aborted, error);
  } finally {
    deadline.removeEventListener("abort", onDeadline);
    signal?.removeEventListener("abort", stop);
    client?.close();
  }
}

/** Settles with the promise, or rejects when the signal aborts: a replaced `fetch` may ignore signals. */
function orAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    promise.then(resolve, reject);
  });
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

/** What an error of `fetch` means. Its text is not used: it may contain URLs and headers. */
function failure(request: ProviderRequest, timedOut: boolean, error: unknown): Refused {
  const host = request.url.host;
  if (error instanceof Deno.errors.NotCapable) {
    throw new ConfigError(
      "PERMISSION",
      `Cannot reach the identity provider at ${host}: the permission is missing; run: ${request.command()}`,
    );
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  const reason = networkReason(`${error instanceof Error ? error.message : ""} ${cause}`);
  const refused = { kind: "refused", isFinal: false } as const;
  if (timedOut) {
    const repeatable = !mustNotRepeat(request);
    return { ...refused, code: "TIMEOUT", repeatable, seen: `no answer from ${host}` };
  }
  return {
    ...refused,
    code: "UNREACHABLE",
    // If the provider may have read the request, a password is not sent again.
    repeatable: reason.retry && (reason.unsent || !mustNotRepeat(request)),
    seen: `${host}: ${reason.words}`,
  };
}

/**
 * How long an answer asks to wait, in milliseconds. An instant is compared with the date of the answer,
 * which comes from the same clock.
 *
 * @param now This machine's wall clock, for an answer without a date.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  const text = headers?.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const until = Date.parse(text);
  const sent = Date.parse(headers?.get("date") ?? "");
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(sent) ? now : sent));
}
