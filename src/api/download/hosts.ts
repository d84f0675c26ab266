/** Limits how often downloads ask a host that does not respond. */

/** Maximum number of consecutive requests of a transfer without new data. */
export const MAX_FRUITLESS = 6;
/**
 * Maximum number of requests to a host that has never responded. This limit is lower than
 * `MAX_FRUITLESS`, because the address of the host may be wrong.
 */
const MAX_UNANSWERED = 3;

/** Which hosts have responded to the downloads of a group. */
export class Hosts {
  /** For each origin, the maximum number of consecutive requests without a response. */
  readonly #tries = new Map<string, number>();

  noteResponse(origin: string): void {
    this.#tries.set(origin, MAX_FRUITLESS);
  }

  /** The maximum number of consecutive requests without a response before a download fails. */
  triesOf(origin: string): number {
    return this.#tries.get(origin) ?? MAX_UNANSWERED;
  }

  /**
   * Records that a download failed because a host did not respond. If the host has never responded,
   * other downloads from this host now fail after a single request.
   *
   * @returns Whether this is the first host of the group, so that the others would fail, too.
   */
  noteFailure(origin: string): boolean {
    const isFirst = this.#tries.size === 0;
    if (!this.#tries.has(origin)) this.#tries.set(origin, 1);
    return isFirst;
  }
}
