/** Downloads many files, a few at once. */
import type { ApiAccount } from "../account.ts";
import { checkIfExists, type Download, downloadFile } from "./download.ts";
import { DownloadGroup } from "./download_group.ts";
import { checkedItems, type DownloadItem, type Task, withoutQuery } from "./items.ts";
import { Reports } from "./reports.ts";
import { isDiskFull } from "../save_errors.ts";
import type { DownloadProgress } from "./transfer.ts";
import { idleTimeout } from "../idle.ts";
import { onAbort } from "../../platform/abort.ts";
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
  /** Cancels all downloads; the next call can resume them. */
  signal?: AbortSignal;
}

/** The progress of {@linkcode downloadAll}. */
export interface DownloadsProgress {
  /** Number of files that were saved, were kept or failed. */
  files: number;
  /** Number of all files. */
  total: number;
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
 * Number of workers per running transfer. While one worker uses the network, another can open or
 * finish a file on the disk.
 */
const WORKERS_FOR_EACH = 2;

/**
 * Saves many files, a few at once. If one file fails, the others continue, unless they would fail
 * for the same reason.
 *
 * @param signal Cancels all downloads. The downloaded part of each file is kept.
 */
export async function downloadItems(
  account: ApiAccount,
  items: Iterable<DownloadItem>,
  options: DownloadAllOptions,
  signal: AbortSignal | undefined,
): Promise<Downloads> {
  checkOptions(options);
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  const tasks = checkedItems(items);
  const batch = new Batch(account, options, concurrency, tasks.length);
  const { end } = batch.group;
  const stopListening = onAbort(signal, () => end.abort(signal?.reason));
  const left = tasks.values();
  /** Saves items until no items are left. Several workers take items from the same iterator. */
  const work = async () => {
    for (const task of left) await batch.save(task);
  };
  try {
    batch.reports.now();
    const count = Math.min(concurrency * WORKERS_FOR_EACH, tasks.length);
    const workers = Array.from({ length: count }, work);
    await Promise.all(workers.map((each) => each.catch((error) => end.abort(error))));
    end.signal.throwIfAborted();
    batch.reports.now();
    return batch.result();
  } finally {
    stopListening();
    batch.close();
  }
}

/** @throws {TypeError} If an option cannot be used. */
function checkOptions(options: DownloadAllOptions): void {
  const { concurrency = DEFAULT_CONCURRENCY, idleTimeoutMs, ifExists } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw typeError("concurrency must be a whole number from 1");
  }
  idleTimeout(idleTimeoutMs);
  checkIfExists(ifExists);
}

/** The downloads of one call, and their results so far. */
class Batch {
  readonly group: DownloadGroup;
  readonly reports: Reports;
  readonly #saved: Download[] = [];
  readonly #kept: Download[] = [];
  readonly #failed: FailedDownload[] = [];
  /** Number of bytes that this call has downloaded. */
  #bytes = 0;
  readonly #started: number;

  constructor(
    private readonly account: ApiAccount,
    private readonly options: DownloadAllOptions,
    concurrency: number,
    private readonly total: number,
  ) {
    this.#started = account.world.monotonic();
    this.group = new DownloadGroup(account.world, concurrency);
    this.reports = new Reports(account.world, () => options.onProgress?.(this.#progress()));
  }

  #progress(): DownloadsProgress {
    const [kept, failed] = [this.#kept.length, this.#failed.length];
    const files = this.#saved.length + kept + failed;
    return { files, total: this.total, kept, failed, bytes: this.#bytes };
  }

  /**
   * Saves one item. If the failure affects only this item, adds it to the results.
   *
   * @throws An error that would also affect the other items.
   */
  async save({ input, path }: Task): Promise<void> {
    const { signal } = this.group.end;
    signal.throwIfAborted();
    try {
      const options = { ...this.options, onPiece: this.#counter() };
      const file = await downloadFile(this.account, input, path, options, signal, this.group);
      (file.kept ? this.#kept : this.#saved).push(file);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Error) || concernsAll(error)) throw error;
      this.#failed.push({ input: withoutQuery(input), file: path, error });
    }
    this.reports.soon();
  }

  /**
   * Returns a function that counts the bytes that this call downloads for one file. Bytes of an
   * earlier call do not count. If the download starts over, the count stays as it is.
   */
  #counter(): (progress: DownloadProgress) => void {
    let before: number | undefined;
    return ({ bytes }) => {
      this.#bytes += Math.max(0, bytes - (before ?? bytes));
      before = bytes;
      this.reports.soon();
    };
  }

  result(): Downloads {
    const [saved, kept, failed] = [this.#saved, this.#kept, this.#failed];
    return {
      saved,
      kept,
      failed,
      counts: { saved: saved.length, kept: kept.length, failed: failed.length },
      bytes: saved.reduce((sum, { bytes }) => sum + bytes, 0),
      milliseconds: Math.round(this.account.world.monotonic() - this.#started),
    };
  }

  close(): void {
    this.group.close();
    this.reports.end();
  }
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
