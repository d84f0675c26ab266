import type { Outcome } from "./exchange.ts";
import type { ProviderSettings } from "./exchange.ts";
import { durationText } from "../values/wording.ts";

/** What users report of the real service: from the fifth on, each failure doubles a lock of a second. */
const FREE_FAILURES = 5;
const LONGEST_LOCK_MS = 900_000;

/** Rejected passwords in a row, in this process, by provider, client and name. */
const failures = new Map<string, number>();

/**
 * Counts rejected passwords. No try is held back: who tries knows what was corrected.
 *
 * @returns What the user should know before the next one, if anything.
 */
export function countFailures(
  provider: ProviderSettings,
  username: string,
  outcome: Outcome,
): string | undefined {
  const key = JSON.stringify([provider.url, provider.clientId, username]);
  if (outcome.kind !== "refused") {
    failures.delete(key);
    return undefined;
  }
  const before = failures.get(key) ?? 0;
  const count = outcome.code === "INVALID_CREDENTIALS" ? before + 1 : before;
  failures.set(key, count);
  const relevant = outcome.code === "INVALID_CREDENTIALS" || outcome.code === "LOCKED_OUT";
  if (!relevant || count < 2) return undefined;
  const told = `${count} passwords in a row were rejected for this name`;
  if (count < FREE_FAILURES) return `${told}, and after about ${FREE_FAILURES} it is locked`;
  const lock = Math.min(1_000 * 2 ** (count - FREE_FAILURES), LONGEST_LOCK_MS);
  return `${told}, so it is locked for about ${durationText(lock)}: wait that long before the next`;
}
