import type { Clocks } from "../platform/world.ts";

const REPORT_MS = 100;

/**
 * Reports progress about ten times a second. Progress that is not reported at once is reported a
 * little later, so that a long wait never shows an outdated state.
 */
export class Reports {
  #reportedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly clocks: Clocks, readonly report: () => void) {}

  /** Reports now, or soon after the last report. */
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
