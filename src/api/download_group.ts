import { unlessAborted } from "../platform/abort.ts";
import { Pauses } from "../platform/pauses.ts";
import type { World } from "../platform/world.ts";

/** The state shared by downloads that run at the same time. */
export class DownloadGroup {
  /** For each origin, the maximum number of consecutive requests that get no response. */
  readonly tries = new Map<string, number>();
  /** Ends all downloads of the group with an error that affects them all. */
  readonly end = new AbortController();
  readonly pauses: Pauses;
  #hold: Promise<unknown> = Promise.resolve();
  readonly #closed = new AbortController();
  #free: number;
  #freed = Promise.withResolvers<void>();

  /** @param transfers Maximum number of downloads that use the network at the same time. */
  constructor(world: World, transfers = 1) {
    this.pauses = new Pauses(world);
    this.#free = transfers;
  }

  /**
   * Waits until fewer than the maximum number of downloads use the network, then does the work.
   * In the meantime, other downloads open and finish their files.
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
   * Pauses the requests of all downloads in the group. The abort of one download does not concern
   * the others, so only the end of the group cuts the pause short.
   */
  hold(ms: number, why: string): void {
    this.#hold = Promise.all([this.#hold, this.pauses.pause(ms, why, this.#closed.signal)]);
    // A download that waits gets an error; if none waits, the rejection must still be handled.
    this.#hold.catch(() => {});
  }

  /**
   * Waits until requests may be sent.
   *
   * @param signal Ends the wait of this download.
   */
  async turn(signal: AbortSignal | undefined): Promise<void> {
    let hold;
    do await unlessAborted(signal, hold = this.#hold); while (hold !== this.#hold);
  }

  /** Ends a pause that no download waits for any more. */
  close(): void {
    this.#closed.abort();
  }
}
