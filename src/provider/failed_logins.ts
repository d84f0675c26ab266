import type { Outcome, ProviderSettings } from "./protocol.ts";
import { durationText } from "../errors/amounts.ts";

/** As users report it: the fifth failure locks a name for a second, each further one for twice as long. */
const FREE_FAILURES = 5;
/** The longest lock. So much time without a failure also ends the counting. */
const LONGEST_LOCK_MS = 900_000;

/** Rejected passwords in a row, in this process, by provider, client and name. */
const failures = new Map<string, { readonly count: number; readonly last: number }>();

/** What the rejected passwords for a name mean for the next try. */
export interface Failures {
  /** What the user should know before it, if anything. */
  readonly advice: string | undefined;
  /** Whether another wrong password would lock the name. */
  readonly nextLocks: boolean;
}

/**
 * Counts rejected passwords. No login is held back: the user knows what was corrected. Refusals for
 * another reason, and logins while the name is locked, do not count.
 *
 * @param at When the request was sent, by the monotonic clock, in milliseconds.
 */
export function countFailures(
  provider: ProviderSettings,
  username: string,
  outcome: Outcome,
  at: number,
): Failures {
  const key = JSON.stringify([provider.url, provider.clientId, username]);
  if (outcome.kind !== "refused") {
    failures.delete(key);
    return { advice: undefined, nextLocks: false };
  }
  const rejected = outcome.code === "INVALID_CREDENTIALS";
  const before = failures.get(key);
  const known = before && at - before.last < LONGEST_LOCK_MS ? before.count : 0;
  const count = rejected ? known + 1 : known;
  if (rejected) failures.set(key, { count, last: at });
  const matters = count >= 2 && (rejected || outcome.code === "LOCKED_OUT");
  return {
    advice: matters ? adviceFor(count) : undefined,
    nextLocks: count >= FREE_FAILURES - 1,
  };
}

function adviceFor(count: number): string {
  const advice = `${count} passwords in a row were rejected for this name`;
  if (count < FREE_FAILURES) return `${advice}, and after about ${FREE_FAILURES} it is locked`;
  const lock = Math.min(1_000 * 2 ** (count - FREE_FAILURES), LONGEST_LOCK_MS);
  return `${advice}, so it is locked for about ${
    durationText(lock)
  }: wait that long before the next`;
}
