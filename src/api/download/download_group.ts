/** What simultaneous downloads share: a pause, and the limit of transfers. */
import { unlessAborted } from "../../platform/abort.ts";
import { pause } from "../../platform/pauses.ts";
import type { Timing } from "../../platform/world.ts";

/** The state shared by downloads that run at the same time. */
export class DownloadGroup {
  /** Whether the API has ever responded. If not, its address may be wrong. */
  hasResponse = false;
  /** Ends all downloads of the group with an error that affects them all. */
  readonly end = new AbortController();
  #pause: Promise<unknown> = Promise.resolve();
  readonly #closed = new AbortController();

  #free: number;
  #freed = Promise.withResolvers<void>();

  /** @param transfers Maximum number of downloads that use the network at the same time. */
  constructor(private readonly timing: Timing, transfers = 1) {
    this.#free = transfers;
  }

  /**
   * Waits until another transfer may start, then does the work. Only transfers are limited, so
   * other downloads can open and finish their files in the meantime.
   *
   * @param signal Ends the wait.
   */
  async inPlace<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    while (this.#free === 0) await unlessAborted(signal, this.#freed.promise);
    this.#free--;
    try {
      return await work();
    } finally {
      this.#free++;
      this.#freed.resolve();
      this.#freed = Promise.withResolvers();
    }
  }

  /**
   * Pauses the requests of all downloads in the group. Only the end of the group ends the pause
   * early: if one download is aborted, the others must still wait.
   */
  pauseAll(ms: number, why: string): void {
    this.#pause = Promise.all([this.#pause, pause(this.timing, ms, why, this.#closed.signal)]);
    // `turn()` passes a rejection to each download that waits. If no download waits, this handler
    // keeps the runtime from reporting an unhandled rejection.
    this.#pause.catch(() => {});
  }

  /**
   * Waits until requests may be sent.
   *
   * @param signal Ends the wait of this download.
   */
  async turn(signal: AbortSignal | undefined): Promise<void> {
    let waited: unknown;
    while (waited !== this.#pause) {
      waited = this.#pause;
      await unlessAborted(signal, this.#pause);
    }
  }

  /** Ends the pause. Called when all downloads have ended. */
  close(): void {
    this.#closed.abort();
  }
}
