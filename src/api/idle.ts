import { onAbort, unlessAborted } from "../platform/abort.ts";
import type { Timing } from "../platform/world.ts";
import { typeError } from "../errors/errors.ts";
import type { InProgram } from "../errors/advice.ts";

const DEFAULT_IDLE_MS = 60_000;
/** An idle timeout of this length or more means no limit, because timers cannot wait longer. */
const LONGEST_IDLE_MS = 2 ** 31;
/** The error for a server that sent no data during the idle timeout. */
export class Stalled extends Error {
  constructor(idleMs: number) {
    super(`no data arrived for ${idleMs / 1_000} s`);
  }
}

/** The last part of the fix for a stalled request. */
export const WAIT_LONGER: InProgram = { inProgram: ", or pass a longer idleTimeoutMs" };

/**
 * Checks an idle timeout, or returns the default if none is given.
 *
 * @returns The timeout in milliseconds; 0 means no limit.
 * @throws {TypeError} If the number is negative or `NaN`.
 */
export function idleTimeout(idleMs: number = DEFAULT_IDLE_MS): number {
  if (!(idleMs >= 0)) throw typeError("idleTimeoutMs must be zero or more milliseconds");
  return idleMs < LONGEST_IDLE_MS ? idleMs : 0;
}

/**
 * Ends a request whose server sends no data for too long. Only the time spent waiting for the
 * server is measured, so a slow disk does not end the request.
 */
export class IdleWatch {
  /** Aborts with {@linkcode Stalled}, or when the user's signal aborts. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #leaveUser: () => void;
  #stopTimer = () => {};

  /**
   * @param idleMs From {@linkcode idleTimeout}.
   * @param user The user's signal.
   */
  constructor(readonly timing: Timing, readonly idleMs: number, user: AbortSignal | undefined) {
    this.signal = this.#end.signal;
    this.#leaveUser = onAbort(user, () => this.#end.abort(user?.reason));
  }

  /** Starts to wait for the server. */
  begin(): void {
    this.pause();
    if (this.idleMs === 0) return;
    // The timer keeps the process alive only while it has a listener.
    const timer = this.timing.timeout(this.idleMs);
    this.#stopTimer = onAbort(timer, () => this.#end.abort(new Stalled(this.idleMs)));
  }

  /** Stops the timer. Called when the server has sent data or is not expected to send any. */
  pause(): void {
    this.#stopTimer();
  }

  /** Waits for the server. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.begin();
    try {
      return await unlessAborted(this.signal, work);
    } finally {
      this.pause();
    }
  }

  /** Stops listening to the user's signal, because the request has ended. */
  release(): void {
    this.#leaveUser();
  }
}
