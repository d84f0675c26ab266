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
