/** Compares this computer's clock with the provider's. */
import type { Advice } from "../errors/advice.ts";
import { durationText } from "../errors/amounts.ts";

/** A clock that differs by more than this causes a warning. */
const TOLERANCE_MS = 60_000;

/** @param offsetMs The provider's clock minus this machine's, in milliseconds. */
export function clockAdvice(offsetMs: number): Advice | undefined {
  if (Math.abs(offsetMs) <= TOLERANCE_MS) return undefined;
  const side = offsetMs < 0 ? "ahead of" : "behind";
  const span = durationText(Math.abs(offsetMs));
  return {
    problem: `this computer's clock is ${span} ${side} the provider's`,
    fix: "correct the clock",
  };
}

/**
 * How far the provider's clock is ahead of this machine's, in milliseconds; `undefined` unless
 * the token was issued in the future by this machine's clock.
 *
 * @param iat When the token was issued, by the provider's clock, in seconds since 1970.
 * @param now The time by this machine's wall clock, in milliseconds since 1970.
 */
export function offsetByIssue(iat: number | undefined, now: number): number | undefined {
  const aheadMs = (iat ?? 0) * 1_000 - now;
  return aheadMs > TOLERANCE_MS ? aheadMs : undefined;
}
