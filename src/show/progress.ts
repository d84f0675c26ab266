import type { DownloadProgress } from "../api/download.ts";
import type { DownloadsProgress } from "../api/download_all.ts";
import { inKernel } from "../errors/kernel.ts";
import { liveLine } from "../platform/live_line.ts";
import { bytesText, durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";
import { passedText } from "./status_text.ts";

/** A notebook keeps the line for good, so a download that ends sooner shows none. */
const SHOWN_AFTER_MS = 500;
const BAR_CHARACTERS = 20;

/** A line that shows how far something is. Each `show()` replaces it. */
export interface ProgressLine<Progress> {
  show(progress: Progress): void;
  /** Shows the last state for good, or removes the line. */
  end(): void;
}

/** What a line says. */
export interface ProgressWords<Progress> {
  /** Meanwhile. `first` is how far it was when this call began. */
  running(now: Progress, first: Progress, passedMs: number): string;
  /** At the end. */
  ended(last: Progress, passedMs: number): string;
}

/** The line of one file. */
export const OF_ONE_FILE: ProgressWords<DownloadProgress> = {
  running: (now, first, passedMs) => progressText(now, now.bytes - first.bytes, passedMs),
  ended({ bytes, total }, passedMs) {
    const whole = total === undefined || bytes === total ? "" : ` of ${bytesText(total)}`;
    return `${bytesText(bytes)}${whole} in ${passedText(passedMs)}`;
  },
};

/** The line of many files. */
export const OF_MANY_FILES: ProgressWords<DownloadsProgress> = {
  running: (now, _, passedMs) => filesProgressText(now, passedMs),
  ended({ files, total, bytes }, passedMs) {
    const whole = total === undefined || files === total ? "" : ` of ${total}`;
    return `${files}${whole} files, ${bytesText(bytes)} in ${passedText(passedMs)}`;
  },
};

/**
 * The progress line under the cell of a notebook, or on the terminal; `undefined` where there is
 * neither.
 *
 * @param name What is saved.
 * @param monotonic Milliseconds.
 */
export function progressLine<Progress>(
  name: string,
  monotonic: () => number,
  words: ProgressWords<Progress>,
): ProgressLine<Progress> | undefined {
  const line = liveLine();
  if (line === undefined) return undefined;
  // A notebook keeps the last state, so it says of what.
  const lead = inKernel() ? `${printable(name)}  ` : "";
  const started = monotonic();
  let first: Progress | undefined;
  let last: Progress | undefined;
  let isShown = false;
  return {
    show(progress) {
      first ??= progress;
      last = progress;
      const passedMs = monotonic() - started;
      if (inKernel() && passedMs < SHOWN_AFTER_MS) return;
      isShown = true;
      line.show(lead + words.running(progress, first, passedMs));
    },
    end() {
      if (!isShown || last === undefined) return;
      if (inKernel()) line.show(lead + words.ended(last, monotonic() - started));
      else line.remove();
    },
  };
}

/**
 * Bar, bytes, rate and time left.
 *
 * @param fetched Bytes of this call, without those of an earlier one.
 */
export function progressText(
  { bytes, total }: DownloadProgress,
  fetched: number,
  passedMs: number,
): string {
  const rate = fetched / Math.max(passedMs, 1) * 1_000;
  const speed = `${bytesText(Math.round(rate))}/s`;
  if (!total) return `${bytesText(bytes)}  ${speed}`;
  // An API may send more than it announced, which the download reports as an error.
  const share = Math.min(bytes / total, 1);
  const left = rate > 0 ? `  ${durationText(total * (1 - share) / rate * 1_000)} left` : "";
  return `${barText(share)}  ${bytesText(bytes)} of ${bytesText(total)}  ${speed}${left}`;
}

/**
 * Bar, files, bytes, rate and time left. Files that are kept cost no time, so only the others tell how
 * long the rest will take.
 */
export function filesProgressText(
  { files, total, kept, failed, bytes }: DownloadsProgress,
  passedMs: number,
): string {
  const rate = bytes / Math.max(passedMs, 1) * 1_000;
  const wrong = failed > 0 ? `, ${failed} failed` : "";
  const fetched = `${bytesText(bytes)}  ${bytesText(Math.round(rate))}/s`;
  if (!total) return `${files} files${wrong}  ${fetched}`;
  const asked = files - kept;
  const left = asked > 0 ? `  ${durationText((total - files) / asked * passedMs)} left` : "";
  return `${barText(files / total)}  ${files} of ${total} files${wrong}  ${fetched}${left}`;
}

function barText(share: number): string {
  const filled = Math.floor(share * BAR_CHARACTERS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARACTERS - filled);
  return `${bar} ${Math.floor(share * 100)} %`;
}
