import type { Outcome, ProviderSettings } from "./protocol.ts";

/** Users of the real service report that it locks a name at about the fifth failure. */
const LOCKING_FAILURE = 5;
/** The longest lock. A pause as long as this also ends the count. */
const LONGEST_LOCK_MS = 900_000;

/** Rejected passwords in a row, in this process, by provider, client and name. */
const failures = new Map<string, { readonly count: number; readonly last: number }>();

/** What earlier rejected passwords mean for the next attempt. */
export interface Failures {
  /** What the user should know before it. */
  readonly hints: readonly string[];
  /** Whether another wrong password would lock the name. */
  readonly nextLocks: boolean;
}

/**
 * Counts rejected passwords. Delays no login, because only the user knows what was corrected.
 *
 * @param at When the request was sent, by the monotonic clock, in milliseconds.
 */
export function countFailures(
  { url, clientId }: ProviderSettings,
  username: string,
  outcome: Outcome,
  at: number,
): Failures {
  const key = JSON.stringify([url, clientId, username]);
  if (outcome.kind !== "refused") {
    failures.delete(key);
    return { hints: [], nextLocks: false };
  }
  const { count: before = 0, last = at } = failures.get(key) ?? {};
  const isRejected = outcome.code === "INVALID_CREDENTIALS";
  const count = (at - last < LONGEST_LOCK_MS ? before : 0) + (isRejected ? 1 : 0);
  if (isRejected) failures.set(key, { count, last: at });
  const isShown = count >= 2 && (isRejected || outcome.code === "LOCKED_OUT");
  const hint = `${count} passwords in a row were rejected for this name; after about ` +
    `${LOCKING_FAILURE} the provider locks it, each time for longer`;
  return { hints: isShown ? [hint] : [], nextLocks: count >= LOCKING_FAILURE - 1 };
}
