import { spanText } from "../values/wording.ts";

/** From this difference on, a wrong clock is worth a warning. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Causes of notes: what happened and needs no action. All others are warnings. */
const NOTES: ReadonlySet<string> = new Set(["mode", "signed out", "store unread", "store empty"]);

/** What a session should tell its user, each cause once, and how far the clock is off. */
export class Notices {
  readonly #said = new Map<string, string>();
  #clockOffsetMs: number | undefined;

  /** The provider's clock minus this machine's, in milliseconds, once an answer told. */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  /** What asks for an action. */
  get warnings(): string[] {
    return [...this.#said].filter(([cause]) => !NOTES.has(cause)).map(([, text]) => text);
  }

  /** What happened and needs no action. */
  get notes(): string[] {
    return [...this.#said].filter(([cause]) => NOTES.has(cause)).map(([, text]) => text);
  }

  /** What is said of a cause. */
  get(cause: string): string | undefined {
    return this.#said.get(cause);
  }

  /** Says something of a cause, or takes back what was said. */
  set(cause: string, text: string | undefined): void {
    if (text === undefined) this.#said.delete(cause);
    else this.#said.set(cause, text);
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
    if (this.#clockOffsetMs === undefined) this.learnClock(offsetByIssue(iat, now));
  }
}

/**
 * The provider's clock minus this machine's, in milliseconds, if a token was issued ahead of this clock.
 *
 * @param iat When the token was issued by the provider's clock, seconds since 1970.
 * @param now This machine's wall clock, milliseconds since 1970.
 */
export function offsetByIssue(iat: number | undefined, now: number): number | undefined {
  const aheadMs = (iat ?? 0) * 1_000 - now;
  return aheadMs > CLOCK_TOLERANCE_MS ? aheadMs : undefined;
}
