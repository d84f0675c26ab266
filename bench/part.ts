import type { PartResult } from "./report.ts";

/** The extent of a measurement. */
export interface Effort {
  /** Scales the number of samples; 1 for the published figures. */
  readonly share: number;
  /** Largest size of the curves, as a share of the published one. */
  readonly largest: number;
  /** Whether to measure clients from npm and Python, too. */
  readonly peers: boolean;
}

/** A part of the benchmark, which starts and stops everything it needs. */
export type Part = (effort: Effort) => Promise<PartResult>;

/** The number of rounds, at least one. */
export function rounds(full: number, { share }: Effort): number {
  return Math.max(1, Math.round(full * share));
}

/** The sizes of a curve, up to the largest one that was requested. */
export function sizesUpTo(sizes: readonly number[], { largest }: Effort): number[] {
  const end = Math.max(...sizes) * largest;
  return sizes.filter((size, at) => at === 0 || size <= end);
}
