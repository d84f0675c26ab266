import type { Outcome } from "./protocol.ts";
import type { Provider } from "./provider.ts";

/** Users of the real service report that the service locks a name after about five failures. */
const LOCKING_FAILURE = 5;
/** The longest time for which a name is locked. After such a pause, the count starts again. */
const LONGEST_LOCK_MS = 900_000;

/**
 * Consecutive rejected passwords in this process for the last provider, client and name. Earlier
 * counts are not kept, because a long-running process may log in many users.
 */
let latest: { readonly key: string; readonly count: number; readonly at: number } | undefined;

/** The consequences of rejected passwords for the next attempt. */
export interface Failures {
  /** Hints for the user before the next attempt. */
  readonly hints: readonly string[];
  /** Whether another wrong password would lock the name. */
  readonly nextLocks: boolean;
}

/**
 * Counts rejected passwords. Only the user knows whether the password was corrected, so no login is
 * delayed.
 *
 * @param at Time of the request by the monotonic clock, in milliseconds.
 */
export function countFailures(
  { url, clientId }: Provider,
  username: string,
  outcome: Outcome,
  at: number,
): Failures {
  const key = JSON.stringify([url, clientId, username]);
  const known = latest?.key === key ? latest : undefined;
  if (outcome.kind !== "refused") {
    if (known) latest = undefined;
    return { hints: [], nextLocks: false };
  }
  const isRejected = outcome.code === "INVALID_CREDENTIALS";
  const before = known && at - known.at < LONGEST_LOCK_MS ? known.count : 0;
  const count = before + (isRejected ? 1 : 0);
  if (isRejected) latest = { key, count, at };
  const isShown = count >= 2 && (isRejected || outcome.code === "LOCKED_OUT");
  const hint = `${count} passwords in a row were rejected for this name; after about ` +
    `${LOCKING_FAILURE} the provider locks it, each time for longer`;
  return { hints: isShown ? [hint] : [], nextLocks: count >= LOCKING_FAILURE - 1 };
}
