import { durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";
import { shortened } from "../errors/lines.ts";
import { liveLine } from "./live_line.ts";
import type { Timing } from "./world.ts";

/** A shorter pause is not shown, because the user does not notice it. */
const UNSEEN_MS = 2_000;
/** Maximum length of the reason, in characters, so that the whole line fits into a terminal. */
const REASON_LENGTH = 48;

/**
 * Pauses before another attempt. A line shows a pause of two seconds or more. Returns early, without
 * an error, when the signal aborts.
 *
 * @param why The reason, such as "the API responded with 503".
 */
export async function pause(
  { log, sleep }: Timing,
  ms: number,
  why: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (ms <= 0) return;
  const reason = printable(why);
  log?.({ event: "pause", pauseMs: Math.round(ms), reason });
  const line = ms < UNSEEN_MS ? undefined : liveLine();
  await line?.show(`Trying again in ${durationText(ms)} (${shortened(reason, REASON_LENGTH)})`);
  try {
    await sleep(ms, signal);
  } finally {
    await line?.remove();
  }
}
