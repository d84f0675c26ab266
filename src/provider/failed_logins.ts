import type { Outcome, ProviderSettings } from "./exchange.ts";
import { durationText } from "../values/wording.ts";

/** As users report of the real service: the fifth failure locks for a second, each further one for twice as long. */
const FREE_FAILURES = 5;
/** The longest lock; so much time without a failure also ends the counting. */
const LONGEST_LOCK_MS = 900_000;

/** Rejected passwords in a row, in this process, by provider, client and name. */
const failures = new Map<string, { readonly count: number; readonly last: number }>();

/**
 * Counts rejected passwords. No login is held back: the user knows what was corrected. Refusals for
 * another reason, and logins while the name is locked, do not count.
 *
 * @param at When the request was sent, by the monotonic clock, in milliseconds.
 * @returns What the user should know before the next try, if anything.
 */
export function countFailures(
  provider: ProviderSettings,
  username: string,
  outcome: Outcome,
  at: number = performance.now(),
): string | undefined {
  const key = JSON.stringify([provider.url, provider.clientId, username]);
  if (outcome.kind !== "refused") {
    failures.delete(key);
    return undefined;
  }
  const rejected = outcome.code === "INVALID_CREDENTIALS";
  const before = failures.get(key);
  const known = before && at - before.last < LONGEST_LOCK_MS ? before.count : 0;
  const count = rejected ? known + 1 : known;
  if (rejected) failures.set(key, { count, last: at });
  if (count < 2 || !(rejected || outcome.code === "LOCKED_OUT")) return undefined;
  const told = `${count} passwords in a row were rejected for this name`;
  if (count < FREE_FAILURES) return `${told}, and after about ${FREE_FAILURES} it is locked`;
  const lock = Math.min(1_000 * 2 ** (count - FREE_FAILURES), LONGEST_LOCK_MS);
  return `${told}, so it is locked for about ${durationText(lock)}: wait that long before the next`;
}
