import { onAbort, unlessAborted } from "./abort.ts";
import type { World } from "./world.ts";
import { typeError } from "../errors/errors.ts";
import type { InProgram } from "../errors/advice.ts";
import { spanText } from "../errors/amounts.ts";

const DEFAULT_IDLE_MS = 60_000;
/** No timer can wait longer; such a limit is as good as none. */
const LONGEST_IDLE_MS = 2 ** 31;
/**
 * A cell that computes for longer than the idle timeout delays the timer, and the bytes that arrived
 * meanwhile. This pause after the timer lets them be read first.
 */
const GRACE_MS = 10;

/** The server sent nothing for the idle timeout. */
export class Stalled extends Error {
  constructor(idleMs: number) {
    super(`nothing came for ${idleMs < 1_000 ? `${idleMs} ms` : spanText(idleMs)}`);
  }
}

/** Follows the other advice in the fix of a stalled request. */
export const WAIT_LONGER: InProgram = { inProgram: ", or pass a longer idleTimeoutMs" };

/**
 * The given idle timeout, or the default.
 *
 * @returns 0: no limit.
 * @throws {TypeError} For a negative number or `NaN`.
 */
export function idleTimeout(idleMs: number = DEFAULT_IDLE_MS): number {
  if (!(idleMs >= 0)) throw typeError("idleTimeoutMs must be zero or more milliseconds");
  return idleMs < LONGEST_IDLE_MS ? idleMs : 0;
}

/**
 * Ends a request whose server sends nothing for too long. Only the time spent waiting for the server
 * counts, so a caller that writes slowly ends nothing.
 */
export class IdleWatch {
  /** Aborts with {@linkcode Stalled}, or when the user's signal does. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #leaveUser: () => void;
  #stopTimer = () => {};

  /**
   * @param idleMs From {@linkcode idleTimeout}.
   * @param user The user's signal.
   */
  constructor(readonly world: World, readonly idleMs: number, user: AbortSignal | undefined) {
    this.signal = this.#end.signal;
    this.#leaveUser = onAbort(user, () => this.#end.abort(user?.reason));
  }

  /** Starts to wait for the server. */
  begin(): void {
    this.pause();
    if (this.idleMs === 0) return;
    this.#after(this.idleMs, () => {
      this.#after(GRACE_MS, () => this.#end.abort(new Stalled(this.idleMs)));
    });
  }

  /** A timer keeps the process alive only while something listens to it. */
  #after(ms: number, listener: () => void): void {
    this.#stopTimer = onAbort(this.world.timeout(ms), listener);
  }

  /** The server sent something, or nothing is expected of it. */
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

  /** The request is over. */
  release(): void {
    this.pause();
    this.#leaveUser();
  }
}
