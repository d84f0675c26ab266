import { spanText } from "../values/wording.ts";

/** From this difference on, a wrong clock is worth a warning. */
const CLOCK_TOLERANCE_MS = 60_000;

/** What a session should tell its user: warnings, each said once, and how far the clock is off. */
export class Notices {
  /** The warnings in force, by cause. */
  readonly warnings = new Map<string, string>();
  #clockOffsetMs: number | undefined;

  /** The provider's clock minus this machine's, in milliseconds, once an answer told. */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  /** Sets a warning, or takes it back where there is none. */
  set(cause: string, warning: string | undefined): void {
    if (warning === undefined) this.warnings.delete(cause);
    else this.warnings.set(cause, warning);
  }

  /** Notes how far this machine's clock is from the provider's, and warns from a minute on. */
  learnClock(offsetMs: number | undefined): void {
    if (offsetMs === undefined || Number.isNaN(offsetMs)) return;
    this.#clockOffsetMs = offsetMs;
    const side = offsetMs < 0 ? "ahead of" : "behind";
    this.set(
      "clock",
      Math.abs(offsetMs) <= CLOCK_TOLERANCE_MS
        ? undefined
        : `this computer's clock is ${
          spanText(Math.abs(offsetMs))
        } ${side} the provider's; set it right`,
    );
  }

  /**
   * If iat lies ahead of this clock, this clock is slow: said unless the provider told the time itself.
   *
   * @param iat When the token was issued by the provider's clock, seconds since 1970.
   * @param now This machine's wall clock, milliseconds since 1970.
   */
  learnIssued(iat: number | undefined, now: number): void {
    const aheadMs = (iat ?? 0) * 1_000 - now;
    if (aheadMs > CLOCK_TOLERANCE_MS && this.#clockOffsetMs === undefined) this.learnClock(aheadMs);
  }
}
