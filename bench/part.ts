import type { PartResult } from "./report.ts";

/** How much is to be measured. */
export interface Effort {
  /** Scales the number of samples: 1 is what the published figures are made with. */
  readonly share: number;
  /** Largest size of the curves, as a share of the published one. */
  readonly largest: number;
  /** Whether clients from npm and Python take part. */
  readonly peers: boolean;
}

/** A part of the benchmark, which starts and stops all that it needs. */
export type Part = (effort: Effort) => Promise<PartResult>;

/** The number of rounds, at least one. */
export function rounds(full: number, { share }: Effort): number {
  return Math.max(1, Math.round(full * share));
}

/** The sizes of a curve, up to the largest that is wanted. */
export function sizesUpTo(sizes: readonly number[], { largest }: Effort): number[] {
  const end = Math.max(...sizes) * largest;
  return sizes.filter((size, at) => at === 0 || size <= end);
}
