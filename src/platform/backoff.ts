/**
 * Computes the pause before another attempt. The pause doubles with each attempt. It is shortened
 * at random by up to half, so that clients that failed at the same time do not try again at the
 * same time.
 *
 * @param attempt The number of failed attempts, starting at 1.
 * @param firstMs Longest pause after the first attempt, in milliseconds.
 * @param random A number from 0 up to, but not including, 1.
 * @param longestMs Longest pause after any attempt. Default: no limit.
 */
export function backoffMs(
  attempt: number,
  firstMs: number,
  random: () => number,
  longestMs: number = Infinity,
): number {
  return Math.min(firstMs * 2 ** (attempt - 1), longestMs) * (0.5 + random() / 2);
}

/**
 * Share of the backoff that is added to a server's Retry-After, so that clients do not all send
 * their requests at once.
 */
const SPREAD = 0.2;

/**
 * Computes the pause before a request is repeated, in milliseconds. The pause is at least as long
 * as the server's Retry-After. The other parameters are those of {@linkcode backoffMs}.
 *
 * @param askedMs The result of {@linkcode retryAfterMs}.
 */
export function pauseBeforeRetryMs(
  askedMs: number | undefined,
  attempt: number,
  firstMs: number,
  random: () => number,
): number {
  const backoff = backoffMs(attempt, firstMs, random);
  return askedMs === undefined ? backoff : askedMs + backoff * SPREAD;
}

/**
 * The longest pause that a server can ask for. A longer one must be a mistake of the server: 400
 * digits, for example, are parsed as `Infinity`.
 */
const LONGEST_WAIT_MS = 366 * 86_400_000;

/**
 * Reads the `Retry-After` of a response, in milliseconds. If the header is a point in time, the
 * pause is measured from the date of the response, because both times come from the server's clock.
 *
 * @param now The time of this machine's wall clock, for a response without a date.
 * @returns `undefined` if the header is missing or asks for more than a year.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  const text = headers?.get("retry-after")?.trim() ?? "";
  const sent = Date.parse(headers?.get("date") ?? "");
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Number.isNaN(sent) ? now : sent);
  return ms <= LONGEST_WAIT_MS ? Math.max(0, ms) : undefined;
}
