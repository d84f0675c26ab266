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
