import type { DownloadProgress } from "../download/download.ts";
import { inKernel } from "../errors/front_end.ts";
import { bytesText, durationText, printable } from "../values/wording.ts";
import { passedText } from "./status_text.ts";

/** A notebook keeps the line for good, so a download that ends sooner shows none. */
const SHOWN_AFTER_MS = 500;
const BAR_CHARACTERS = 20;

/** A line that shows how far a download is. Each `show()` replaces it. */
export interface ProgressLine {
  show(progress: DownloadProgress): void;
  /** Shows the last state for good, or removes the line. */
  end(): void;
}

/**
 * The progress line under the cell of a notebook, or on the terminal; `undefined` where there is
 * neither.
 *
 * @param name What is saved.
 * @param monotonic Milliseconds.
 */
export function progressLine(name: string, monotonic: () => number): ProgressLine | undefined {
  const write = inKernel()
    ? cellWriter(name)
    : Deno.stderr.isTerminal()
    ? terminalWriter()
    : undefined;
  if (write === undefined) return undefined;
  const started = monotonic();
  let first: DownloadProgress | undefined;
  let last: DownloadProgress | undefined;
  let isShown = false;
  return {
    show(progress) {
      first ??= progress;
      last = progress;
      const passedMs = monotonic() - started;
      if (inKernel() && passedMs < SHOWN_AFTER_MS) return;
      isShown = true;
      write(progressText(progress, progress.bytes - first.bytes, passedMs), false);
    },
    end() {
      if (!isShown || last === undefined) return;
      const { bytes, total } = last;
      const whole = total === undefined || bytes === total ? "" : ` of ${bytesText(total)}`;
      write(`${bytesText(bytes)}${whole} in ${passedText(monotonic() - started)}`, true);
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
  const filled = Math.floor(share * BAR_CHARACTERS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARACTERS - filled);
  const left = rate > 0 ? `  ${durationText(total * (1 - share) / rate * 1_000)} left` : "";
  const percent = Math.floor(share * 100);
  return `${bar} ${percent} %  ${bytesText(bytes)} of ${bytesText(total)}  ${speed}${left}`;
}

/** One output of the cell, which is updated in place, also in a notebook that was saved. */
function cellWriter(name: string): (line: string) => void {
  const transient = { display_id: crypto.randomUUID() };
  let kind = "display_data";
  return (line) => {
    const data = { "text/plain": `${printable(name)}  ${line}` };
    // Typed as a promise, and in some versions none. A line that cannot be shown must not end a download.
    Promise.resolve(Deno.jupyter.broadcast(kind, { data, metadata: {}, transient })).catch(
      () => {},
    );
    kind = "update_display_data";
  };
}

/** One line, which is removed at the end. */
function terminalWriter(): (line: string, isEnd: boolean) => void {
  return (line, isEnd) => {
    const text = `\r\u001b[K${isEnd ? "" : line}`;
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  };
}
