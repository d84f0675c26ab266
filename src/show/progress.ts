import type { DownloadProgress } from "../api/download.ts";
import type { DownloadsProgress } from "../api/download_all.ts";
import { inKernel } from "../errors/advice.ts";
import { liveLine } from "../platform/live_line.ts";
import { bytesText, durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";

/** In a notebook, a faster download shows no line. */
const SHOWN_AFTER_MS = 500;
const BAR_CHARACTERS = 20;

/** A line that shows the progress of a call. */
export interface ProgressLine<Progress> {
  /** Replaces what the line shows. */
  show(progress: Progress): void;
  /** Removes the line: the result of the call says the rest. */
  end(): void;
}

/** What a line says. `first` is the progress when the call began. */
export type ProgressText<Progress> = (now: Progress, passedMs: number, first: Progress) => string;

/**
 * A progress line under the cell of a notebook, or on the terminal; `undefined` if there is neither.
 *
 * @param name What is being saved.
 * @param monotonic Milliseconds.
 */
export function progressLine<Progress>(
  name: string,
  monotonic: () => number,
  text: ProgressText<Progress>,
): ProgressLine<Progress> | undefined {
  const line = liveLine();
  if (line === undefined) return undefined;
  // A cell may show several lines at once.
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

/** Bar, bytes, rate and time left. The rate is that of this call: a resumed download starts above 0. */
export function downloadText(
  { bytes, total }: DownloadProgress,
  passedMs: number,
  first: DownloadProgress,
): string {
  const rate = (bytes - first.bytes) / Math.max(passedMs, 1) * 1_000;
  const speed = `${bytesText(Math.round(rate))}/s`;
  if (!total) return `${bytesText(bytes)}  ${speed}`;
  // An API may send more than it announced; the download reports that as an error.
  const share = Math.min(bytes / total, 1);
  const left = rate > 0 ? `  ${durationText(total * (1 - share) / rate * 1_000)} left` : "";
  return `${barText(share)}  ${bytesText(bytes)} of ${bytesText(total)}  ${speed}${left}`;
}

/** Bar, files, bytes, rate and time left, estimated from the files that were not kept: those cost no time. */
export function downloadsText(
  { files, total, kept, failed, bytes }: DownloadsProgress,
  passedMs: number,
): string {
  const rate = bytes / Math.max(passedMs, 1) * 1_000;
  const failures = failed > 0 ? `, ${failed} failed` : "";
  const fetched = `${bytesText(bytes)}  ${bytesText(Math.round(rate))}/s`;
  if (!total) return `${files} files${failures}  ${fetched}`;
  const fetchedFiles = files - kept;
  const left = fetchedFiles > 0
    ? `  ${durationText((total - files) / fetchedFiles * passedMs)} left`
    : "";
  return `${barText(files / total)}  ${files} of ${total} files${failures}  ${fetched}${left}`;
}

function barText(share: number): string {
  const filled = Math.floor(share * BAR_CHARACTERS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARACTERS - filled);
  return `${bar} ${Math.floor(share * 100)} %`;
}
