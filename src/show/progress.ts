import type { DownloadsProgress } from "../api/download/download_all.ts";
import type { DownloadProgress } from "../api/download/transfer.ts";
import { inKernel } from "../errors/advice.ts";
import { liveLine } from "../platform/live_line.ts";
import { bytesText, durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";

/** Time after which a notebook shows a progress line. A shorter download shows none. */
const SHOWN_AFTER_MS = 500;
const BAR_CHARACTERS = 20;

/** A line that shows the progress of a call. */
export interface ProgressLine<Progress> {
  /** Replaces the text of the line. */
  show(progress: Progress): void;
  /** Removes the line, because the result of the call follows. */
  end(): void;
}

/** Returns the text of a line. `first` is the progress at the start of the call. */
export type ProgressText<Progress> = (now: Progress, passedMs: number, first: Progress) => string;

/**
 * Makes a progress line under the cell of a notebook or on the terminal. Returns `undefined` if the
 * process has neither a cell nor a terminal.
 *
 * @param name The name of the file that is being saved.
 * @param monotonic Returns the time of a monotonic clock, in milliseconds.
 */
export function progressLine<Progress>(
  name: string,
  monotonic: () => number,
  text: ProgressText<Progress>,
): ProgressLine<Progress> | undefined {
  const line = liveLine();
  if (line === undefined) return undefined;
  // A cell may show several progress lines at once, so each line begins with its name.
  const lead = inKernel() ? `${printable(name)}  ` : "";
  const started = monotonic();
  let first: Progress | undefined;
  let isShown = false;
  return {
    show(progress) {
      first ??= progress;
      const passedMs = monotonic() - started;
      if (inKernel() && passedMs < SHOWN_AFTER_MS) return;
      isShown = true;
      line.show(lead + text(progress, passedMs, first));
    },
    end() {
      if (isShown) line.remove();
    },
  };
}

/** Returns a bar, bytes, rate and remaining time. The rate excludes the bytes of earlier calls. */
export function downloadText(
  { bytes, total }: DownloadProgress,
  passedMs: number,
  first: DownloadProgress,
): string {
  const rate = (bytes - first.bytes) / Math.max(passedMs, 1) * 1_000;
  const speed = `${bytesText(Math.round(rate))}/s`;
  if (!total) return `${bytesText(bytes)}  ${speed}`;
  // The share is limited, because an API may send more bytes than it announced. The download fails
  // later with an error.
  const share = Math.min(bytes / total, 1);
  const left = rate > 0 ? `  ${durationText(total * (1 - share) / rate * 1_000)} left` : "";
  return `${barText(share)}  ${bytesText(bytes)} of ${bytesText(total)}  ${speed}${left}`;
}

/**
 * Returns a bar, files, bytes, rate and remaining time. Files that were kept take no time, so the
 * estimate ignores them.
 */
export function downloadsText(
  { files, total, kept, failed, bytes }: DownloadsProgress,
  passedMs: number,
): string {
  const rate = bytes / Math.max(passedMs, 1) * 1_000;
  const failures = failed > 0 ? `, ${failed} failed` : "";
  const fetched = `${bytesText(bytes)}  ${bytesText(Math.round(rate))}/s`;
  const fetchedFiles = files - kept;
  const left = fetchedFiles > 0
    ? `  ${durationText((total - files) / fetchedFiles * passedMs)} left`
    : "";
  return `${
    barText(files / Math.max(total, 1))
  }  ${files} of ${total} files${failures}  ${fetched}${left}`;
}

function barText(share: number): string {
  const filled = Math.floor(share * BAR_CHARACTERS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARACTERS - filled);
  return `${bar} ${Math.floor(share * 100)} %`;
}
