/**
 * The pause before another try: twice as long after each one, and shortened by up to half at random,
 * so that many who failed together do not come back together.
 *
 * @param attempt How many tries failed, from 1.
 * @param firstMs The longest pause after the first, in milliseconds.
 * @param random A number from 0 up to, but not including, 1.
 * @param longestMs No pause is longer. Default: no limit.
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
 * How much of the backoff is added to a pause that the server asks for, so that not all come back at
 * once.
 */
const SPREAD = 0.2;

/**
 * The pause before a request is sent again, in milliseconds: at least what the server asks for, if it
 * does. The other parameters are those of {@linkcode backoffMs}.
 *
 * @param askedMs What {@linkcode retryAfterMs} read.
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

/** A server that says more does not mean a pause: a number of 400 digits is not even finite. */
const LONGEST_WAIT_MS = 366 * 86_400_000;

/**
 * How long an answer asks to wait (`Retry-After`), in milliseconds. An instant is compared with the
 * date of the answer, which comes from the same clock.
 *
 * @param now This machine's wall clock, for an answer without a date.
 * @returns `undefined` if it does not ask, or names more than a year.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  const text = headers?.get("retry-after")?.trim() ?? "";
  const sent = Date.parse(headers?.get("date") ?? "");
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Number.isNaN(sent) ? now : sent);
  return ms <= LONGEST_WAIT_MS ? Math.max(0, ms) : undefined;
}
