/** Limits how often progress is reported. */
import type { Clocks } from "../../platform/world.ts";

const REPORT_MS = 100;

/**
 * Reports progress at most about ten times a second. Progress that comes too soon after a report is
 * reported up to 100 ms later, so that an outdated state is not shown during a long wait.
 */
export class Reports {
  #reportedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly clocks: Clocks, readonly report: () => void) {}

  /** Reports now, or 100 ms later if the last report is too recent. */
  soon(): void {
    if (this.#timer !== undefined) return;
    if (this.clocks.monotonic() - this.#reportedAt >= REPORT_MS) return this.now();
    this.#timer = setTimeout(() => {
      try {
        this.now();
      } catch {
        // A timer has no caller that could catch the error. The next report may throw it again.
      }
    }, REPORT_MS);
  }

  now(): void {
    this.end();
    this.#reportedAt = this.clocks.monotonic();
    this.report();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
