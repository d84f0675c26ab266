import { isTransient } from "../errors/errors.ts";
import type { Clocks } from "../platform/world.ts";
import type { SendResult } from "./send.ts";

/** Maximum time for which a Retry-After delays later calls. */
const MAX_HOLD_MS = 900_000;

/**
 * The pause that the provider asked a session for. Until it has passed, the session's logins and
 * refreshes send nothing.
 */
export class Hold {
  #until = -Infinity;

  leftMs({ monotonic }: Clocks): number {
    return this.#until - monotonic();
  }

  /**
   * Starts the pause if the provider asked for one after a transient failure. After a wrong
   * password, for example, later calls do not wait.
   */
  startAfter({ outcome, retryAfterSeconds }: SendResult, { monotonic }: Clocks): void {
    if (retryAfterSeconds === undefined) return;
    if (outcome.kind !== "refused" || !isTransient(outcome.code)) return;
    this.#until = monotonic() + Math.min(retryAfterSeconds * 1_000, MAX_HOLD_MS);
  }
}
