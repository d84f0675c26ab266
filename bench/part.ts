import type { PartResult } from "./report.ts";

/**
 * The extent of a measurement: `full` for the published figures, `smoke` for one short round
 * without other clients, to check that everything runs.
 */
export type Effort = "full" | "smoke";

/** A part of the benchmark, which starts and stops everything it needs. */
export type Part = (effort: Effort) => Promise<PartResult>;

/** The number of rounds. */
export function rounds(full: number, effort: Effort): number {
  return effort === "full" ? full : 1;
}
