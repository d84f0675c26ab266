import { durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";
import { type LiveLine, liveLine } from "./live_line.ts";
import type { Timing } from "./world.ts";

/** A line is shown only if a wait is longer than this. The user does not notice shorter waits. */
const UNSEEN_MS = 2_000;
/** Maximum length of the reason, in characters, so that the whole line fits into a terminal. */
const REASON_LENGTH = 48;

/**
 * The pauses between the attempts of a call. A stretch is a series of attempts without progress. If
 * a stretch takes longer than two seconds, its pauses are shown in a line.
 */
export class Pauses {
  /** Time at which the first pause of this stretch began. */
  #since: number | undefined;
  #line: LiveLine | undefined;

  constructor(private readonly timing: Timing) {}

  /** Ends the stretch, because an attempt made progress. */
  endStretch(): void {
    this.#since = undefined;
  }

  /**
   * Waits. Returns early, without an error, when the signal aborts.
   *
   * @param why The reason, such as "the API responded with 503".
   */
  async pause(ms: number, why: string, signal: AbortSignal | undefined): Promise<void> {
    this.timing.log?.({ event: "pause", pauseMs: Math.round(ms), reason: printable(why) });
    const now = this.timing.monotonic();
    this.#since ??= now;
    if (now - this.#since + ms < UNSEEN_MS) return await this.timing.sleep(ms, signal);
    this.#line ??= liveLine();
    const reason = shortened(printable(why), REASON_LENGTH);
    await this.#line?.show(`Trying again in ${durationText(ms)} (${reason})`);
    try {
      await this.timing.sleep(ms, signal);
    } finally {
      await this.#line?.remove();
    }
  }
}
