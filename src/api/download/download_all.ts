/** Downloads many files, a few at once. */
import type { Api } from "../api.ts";
import { checkIfExists, checkRequest, type Download, downloadFile } from "./download.ts";
import { DownloadGroup } from "./download_group.ts";
import { checkedHeaders } from "../headers.ts";
import { checkedItems, type DownloadItems, type Task, withoutQuery } from "./items.ts";
import { Reports } from "./reports.ts";
import { isDiskFull } from "../save_errors.ts";
import type { DownloadProgress } from "./transfer.ts";
import { idleTimeout } from "../../platform/idle.ts";
import { onAbort, unlessAborted } from "../../platform/abort.ts";
import { ApiError, AuthError, typeError } from "../../errors/errors.ts";

/** Options of {@linkcode downloadAll}. */
export interface DownloadAllOptions {
  /** The number of files to download at the same time. Default 4. */
  concurrency?: number;
  /**
   * How to treat a file that already exists.
   *
   * - `keep` (default): keep it and send nothing.
   * - `error`: list it in `failed`, with the code `FILE_EXISTS`.
   * - `replace`: replace it once the new file is complete.
   */
  ifExists?: "keep" | "error" | "replace";
  /** Method, headers and body of each request, as for `fetch`. Only a GET can be resumed. */
  init?: RequestInit;
  /** Maximum time without data for one file, in milliseconds. Default 60 000; 0 means no limit. */
  idleTimeoutMs?: number;
  /** Called about ten times a second and at the end. Replaces the progress line. */
  onProgress?: (progress: DownloadsProgress) => void;
  /** Cancels all downloads; the next call resumes them. */
  signal?: AbortSignal;
}

/** The progress of {@linkcode downloadAll}. */
export interface DownloadsProgress {
  /** Number of files that were saved, were kept or failed. */
  files: number;
  /**
   * Number of all files. Missing if the items come from an async iterable, whose length is unknown.
   */
  total?: number;
  /** Number of files that were kept because they already existed. */
  kept: number;
  /** Number of files that could not be downloaded. */
  failed: number;
  /** Number of bytes that this call has downloaded. */
  bytes: number;
}

/** A file that could not be downloaded. */
export interface FailedDownload {
  /** The address, without its query. */
  input: string;
  /** Path of the file, as given. */
  file: string;
  /** The error of the download. */
  error: Error;
}

/**
 * The result of {@linkcode downloadAll}; shows as a card in a notebook. In each list, the files are
 * in the order in which they were finished.
 */
export interface Downloads {
  /** Files that this call downloaded. */
  saved: Download[];
  /** Files that existed already. */
  kept: Download[];
  /** Files that could not be downloaded. */
  failed: FailedDownload[];
  /** The lengths of the three lists. */
  counts: { saved: number; kept: number; failed: number };
  /** Total length of the downloaded files, in bytes. */
  bytes: number;
  /** Duration of this call. */
  milliseconds: number;
}

const DEFAULT_CONCURRENCY = 4;
/**
 * Number of open files per running transfer. While one file uses the network, another can be opened
 * or finished on the disk.
 */
const OPEN_FOR_EACH = 2;
/**
 * Maximum time to work before the event loop gets a turn. Without turns, many files that are kept
 * and need no request would delay Stop and timers.
 */
const BUSY_MS = 20;

/**
 * Saves many files, a few at once. If one file fails, the others continue, unless they would fail
 * for the same reason.
 *
 * @param signal Cancels all downloads. The downloaded part of each file is kept.
 */
export async function downloadItems(
  api: Api,
  items: DownloadItems,
  options: DownloadAllOptions,
  signal: AbortSignal | undefined,
): Promise<Downloads> {
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw typeError("concurrency must be a whole number from 1");
  }
  idleTimeout(options.idleTimeoutMs);
  checkIfExists(options.ifExists);
  const { method = "GET", headers, body } = options.init ?? {};
  checkRequest(method.toUpperCase(), checkedHeaders(headers));
  if (body instanceof ReadableStream) {
    throw typeError("The body is sent with each item; pass text or bytes, not a stream");
  }
  const { tasks, total } = checkedItems(items);
  const { timing } = api;
  const group = new DownloadGroup(timing, concurrency);
  const { end } = group;
  const started = timing.monotonic();
  let restedAt = performance.now();
  const saved: Download[] = [];
  const kept: Download[] = [];
  const failed: FailedDownload[] = [];
  /** Items that another process is saving. They are tried again after all others. */
  const busy: Task[] = [];
  let fetched = 0;
  const reports = new Reports(timing, () => {
    options.onProgress?.({
      files: saved.length + kept.length + failed.length,
      ...(total !== undefined && { total }),
      kept: kept.length,
      failed: failed.length,
      bytes: fetched,
    });
  });

  async function save({ input, path }: Task, waits: boolean): Promise<"busy" | "done"> {
    if (performance.now() - restedAt > BUSY_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      restedAt = performance.now();
    }
    end.signal.throwIfAborted();
    let before: number | undefined;
    // Counts only bytes that this call downloads: not those of an earlier call, and nothing when a
    // file starts over at byte zero.
    const onPiece = ({ bytes }: DownloadProgress) => {
      fetched += Math.max(0, bytes - (before ?? bytes));
      before = bytes;
      reports.soon();
    };
    const either = input instanceof Request
      ? AbortSignal.any([end.signal, input.signal])
      : end.signal;
    try {
      either.throwIfAborted();
      const given = { ...options, onPiece, waits };
      const done = await downloadFile(api, input, path, given, either, group);
      if (done === "busy") return done;
      (done.kept ? kept : saved).push(done);
    } catch (reason) {
      end.signal.throwIfAborted();
      // The signal of an item may abort with a value of any type.
      const error = reason instanceof Error ? reason : new Error(`${reason}`);
      if (concernsAll(error)) throw error;
      failed.push({ input: withoutQuery(input), file: path, error });
    }
    reports.soon();
    return "done";
  }

  /** Saves items until no items are left. Several workers run this function at once. */
  async function work(): Promise<void> {
    for (let next; !(next = await unlessAborted(end.signal, tasks.next())).done;) {
      if (await save(next.value, false) === "busy") busy.push(next.value);
    }
    for (let task; (task = busy.shift()) !== undefined;) await save(task, true);
  }

  const stopListening = onAbort(signal, () => end.abort(signal?.reason));
  try {
    reports.now();
    const openFiles = concurrency * OPEN_FOR_EACH;
    const workers = Array.from({ length: Math.min(openFiles, total ?? openFiles) }, work);
    await Promise.all(workers.map((each) => each.catch((error) => end.abort(error))));
    end.signal.throwIfAborted();
    reports.now();
  } finally {
    stopListening();
    group.close();
    reports.end();
    // Not awaited: `return()` would wait for the source of the items, which may itself wait for the
    // network.
    tasks.return(undefined).catch(() => {});
  }
  const bytes = saved.reduce((sum, { bytes }) => sum + bytes, 0);
  const counts = { saved: saved.length, kept: kept.length, failed: failed.length };
  const milliseconds = Math.round(timing.monotonic() - started);
  return { saved, kept, failed, counts, bytes, milliseconds };
}

/** Codes of errors that affect only one item, so that the other downloads continue. */
const OF_ONE_FILE = [
  "FILE",
  "FILE_EXISTS",
  "INVALID_SETTING",
  "UNTRUSTED_ORIGIN",
  "API_UNREACHABLE",
];

/** Whether the remaining files would fail for the same reason. */
function concernsAll(error: Error): boolean {
  return isDiskFull(error) ||
    error instanceof AuthError && !(error instanceof ApiError) && !OF_ONE_FILE.includes(error.code);
}
