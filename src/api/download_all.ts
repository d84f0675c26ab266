import { type ApiAccount, NetworkError } from "./auth_fetch.ts";
import { canBeSent } from "./headers.ts";
import {
  checkHeaders,
  type Download,
  DownloadGroup,
  downloadTo,
  ifExistsOf,
  LONGEST_PAUSE_MS,
  nextTurn,
  pathOfFile,
} from "./download.ts";
import { concernsAllFiles, type IfExists, makeFolder } from "./download_target.ts";
import { commonFolder, filePath, fileUrl, folderOf } from "../platform/paths.ts";
import { idleTimeout } from "../platform/idle.ts";
import { unlessAborted } from "../platform/abort.ts";
import { ApiError, AuthError, ConfigError, typeError } from "../errors/errors.ts";

/**
 * What to download, and the file to save it as. A pair of strings may also have the type `string[]`,
 * as in `rows.map((row) => [row.url, row.name])`.
 */
export type DownloadItem =
  | readonly [input: string | URL | Request, file: string | URL]
  | readonly string[];

/** The items of {@linkcode downloadAll}. What is given piece by piece is asked for as places get free. */
export type DownloadItems = Iterable<DownloadItem> | AsyncIterable<DownloadItem>;

/** Options of {@linkcode downloadAll}. */
export interface DownloadAllOptions {
  /** How many files to download at the same time. Default 4. */
  concurrency?: number;
  /**
   * What to do with a file that exists already.
   *
   * - `keep` (default): keep it and send nothing.
   * - `error`: list it in `failed`, with the code `FILE_EXISTS`.
   * - `replace`: replace it once the new file is complete.
   */
  ifExists?: "keep" | "error" | "replace";
  /** Method, headers and body of each request, as for `fetch`. Only a GET can be resumed. */
  init?: RequestInit;
  /** Time limit for a stall of one file, in milliseconds. Default 60 000; 0: none. */
  idleTimeoutMs?: number;
  /** Called about ten times a second and at the end. Replaces the progress line. */
  onProgress?: (progress: DownloadsProgress) => void;
  /** Cancels all downloads; the next call resumes them. */
  signal?: AbortSignal;
}
/** The progress of {@linkcode downloadAll}. */
export interface DownloadsProgress {
  /** Files that are finished: saved, kept or failed. */
  files: number;
  /** Number of all files, unless the items come from an async iterable. */
  total?: number;
  /** Finished files that existed already. */
  kept: number;
  /** Finished files that failed. */
  failed: number;
  /** Bytes that this call has downloaded. */
  bytes: number;
}
/** A file that could not be downloaded. */
export interface FailedDownload {
  /** The address, without its query. */
  input: string;
  /** The path to save it as, as given. */
  file: string;
  /** Why it failed. */
  error: Error;
}
/**
 * The result of {@linkcode downloadAll}; shows as a card in a notebook. Each list is in the order in
 * which the files were finished, and ends after 100 000 files.
 */
export interface Downloads {
  /** Files that this call downloaded. */
  saved: Download[];
  /** Files that existed already. */
  kept: Download[];
  /** Files that could not be downloaded. */
  failed: FailedDownload[];
  /** The numbers of files, even beyond the end of the lists. */
  counts: { saved: number; kept: number; failed: number };
  /** Length of all downloaded files, in bytes. */
  bytes: number;
  /** Duration of this call. */
  milliseconds: number;
}
const DEFAULT_CONCURRENCY = 4;
/** How many files are open for each that is fetched: one waits for its turn, or for the disk. */
const OPEN_FOR_EACH = 2;
/** The longest list of a result: a million files must not fill the memory. */
const MOST_LISTED = 100_000;
const PROGRESS_MS = 100;
/** How long files that cost no request may follow each other before anything else gets its turn. */
const BUSY_MS = 20;

const DOING = "downloadAll()";

/**
 * Saves many files, a few at once. A failure of one does not end the others; one that all of them
 * would have does.
 *
 * @param signal Ends it. What is there of each file stays.
 */
export async function downloadItems(
  account: ApiAccount,
  items: DownloadItems,
  options: DownloadAllOptions,
  signal: AbortSignal | undefined,
): Promise<Downloads> {
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw typeError(`${DOING} takes a whole number from 1 as "concurrency"`);
  }
  idleTimeout(DOING, options.idleTimeoutMs);
  const ifExists = ifExistsOf(DOING, options, "keep");
  const { method = "GET", headers = [] } = options.init ?? {};
  checkHeaders({ doing: DOING, method: method.toUpperCase(), headers });
  if (!canBeSent(headers)) throw typeError(`${DOING} was given a header that cannot be sent`);
  if (options.init?.body instanceof ReadableStream) {
    throw typeError(`${DOING} sends the body with each item; give a text or bytes, not a stream`);
  }
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  try {
    const batch = new Batch(account, { ...options, ifExists }, concurrency, end);
    return await batch.run(items, concurrency * OPEN_FOR_EACH);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** An item that was checked. */
interface Task {
  readonly input: string | URL | Request;
  readonly path: string;
}

class Batch {
  readonly #account: ApiAccount;
  readonly #options: DownloadAllOptions & { readonly ifExists: IfExists };
  /** Ends all downloads, with the reason that the call is rejected with. */
  readonly #end: AbortController;
  readonly #group: DownloadGroup;
  /** The files, to find two that are the same. */
  readonly #targets = new Set<string>();
  readonly #result: Downloads = {
    saved: [],
    kept: [],
    failed: [],
    counts: { saved: 0, kept: 0, failed: 0 },
    bytes: 0,
    milliseconds: 0,
  };
  readonly #started: number;
  #total: number | undefined;
  /** The folder of all files, as far as they are known. */
  #folder: string | undefined;
  #fetched = 0;
  #shownAt = -Infinity;
  #restedAt = performance.now();

  constructor(
    account: ApiAccount,
    options: DownloadAllOptions & { readonly ifExists: IfExists },
    at: number,
    end: AbortController,
  ) {
    this.#account = account;
    this.#options = options;
    this.#end = end;
    this.#group = new DownloadGroup(DOING, account.world, at);
    this.#started = account.world.monotonic();
  }

  /** @param most How many files are open at once. */
  async run(items: DownloadItems, most: number): Promise<Downloads> {
    const { signal } = this.#end;
    const tasks = this.#tasksOf(items);
    this.#show(true);
    const work = async () => {
      try {
        while (!signal.aborted) {
          const { done, value } = await unlessAborted(signal, tasks.next());
          if (done) return;
          await this.#save(value);
        }
      } catch (error) {
        this.#end.abort(error);
      }
    };
    await Promise.all(Array.from({ length: Math.min(most, this.#total ?? most) }, work));
    if (signal.aborted) {
      // Not waited for: what gives the items may be waiting for something itself.
      tasks.return(undefined).catch(() => {});
      throw signal.reason;
    }
    this.#result.milliseconds = Math.round(this.#account.world.monotonic() - this.#started);
    this.#show(true);
    return this.#result;
  }

  /** The items, checked. Those that are there as a whole are checked before the first is given. */
  #tasksOf(items: DownloadItems): AsyncGenerator<Task, undefined> {
    if (typeof items === "object" && items !== null && Symbol.asyncIterator in items) {
      return this.#checked(items, true);
    }
    if (typeof items !== "object" || items === null || !(Symbol.iterator in items)) {
      throw typeError(`${DOING} takes an array or another iterable of pairs [input, file]`);
    }
    const list = Array.isArray(items) ? items : [...items];
    list.forEach((item, index) => this.#note(item, index));
    if (this.#folder) makeFolder(this.#folder);
    this.#total = list.length;
    return this.#checked(list, false);
  }

  /** An async generator: several may ask for the next one at once. */
  async *#checked(items: DownloadItems, isNew: boolean): AsyncGenerator<Task, undefined> {
    let index = 0;
    for await (const item of items) {
      yield isNew ? this.#note(item, index) : taskOf(item, index);
      index++;
    }
    return undefined;
  }

  /** @throws {TypeError | ConfigError} For what is no item, and for a file that another one is saved as. */
  #note(item: unknown, index: number): Task {
    const task = taskOf(item, index);
    const file = filePath(fileUrl(task.path));
    this.#folder = commonFolder(this.#folder ?? folderOf(file), file);
    const target = FOLDS_CASE ? file.toLowerCase() : file;
    if (this.#targets.has(target)) {
      throw new ConfigError(
        "INVALID_SETTING",
        `Cannot save ${task.path}: item ${index + 1} and one before it name the same file`,
        "give each item a file of its own",
      );
    }
    this.#targets.add(target);
    return task;
  }

  async #save({ input, path }: Task): Promise<void> {
    if (performance.now() - this.#restedAt > BUSY_MS) {
      await nextTurn();
      this.#restedAt = performance.now();
    }
    const { signal } = this.#end;
    if (signal.aborted) return;
    const { counts, saved, kept, failed } = this.#result;
    let before: number | undefined;
    // What an earlier call left is no byte of this one; a file that is begun again starts at none.
    const onProgress = ({ bytes }: { bytes: number }) => {
      this.#fetched += Math.max(0, bytes - (before ?? bytes));
      before = bytes;
      this.#show(false);
    };
    try {
      const options = { ...this.#options, onProgress };
      const either = input instanceof Request ? AbortSignal.any([signal, input.signal]) : signal;
      const done = await downloadTo(this.#account, input, path, options, either, this.#group);
      const [list, name] = done.kept ? [kept, "kept"] as const : [saved, "saved"] as const;
      if (!done.kept) this.#result.bytes += done.bytes;
      counts[name]++;
      if (list.length < MOST_LISTED) list.push(done);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Error) || this.#concernsAll(error)) throw error;
      counts.failed++;
      if (failed.length < MOST_LISTED) {
        failed.push({ input: withoutQuery(input), file: path, error });
      }
    }
    this.#show(false);
  }

  /** Whether the files that are left would fail for the same reason. */
  #concernsAll(error: Error): boolean {
    if (error instanceof NetworkError) return this.#group.answered.size === 0;
    if (error instanceof ApiError) return error.status === 401 || asksForLongPause(error);
    if (!(error instanceof AuthError)) return false;
    const isOfOne = error.code === "INVALID_SETTING" || error.code === "UNTRUSTED_ORIGIN";
    return !isOfOne || concernsAllFiles(error);
  }

  #show(isLast: boolean): void {
    const now = this.#account.world.monotonic();
    if (!isLast && now - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = now;
    const { saved, kept, failed } = this.#result.counts;
    this.#options.onProgress?.({
      files: saved + kept + failed,
      ...(this.#total !== undefined && { total: this.#total }),
      kept,
      failed,
      bytes: this.#fetched,
    });
  }
}

/** Whether the API asks its caller to stay away for longer than a download waits. */
function asksForLongPause({ status, retryAfterSeconds = 0 }: ApiError): boolean {
  return status === 429 && retryAfterSeconds * 1_000 > LONGEST_PAUSE_MS;
}

function taskOf(item: unknown, index: number): Task {
  if (!Array.isArray(item) || item.length !== 2) {
    throw typeError(`${DOING} takes pairs [input, file], and item ${index + 1} is none`);
  }
  const [input, file] = item as unknown[];
  if (typeof input === "string" || input instanceof URL || input instanceof Request) {
    return { input, path: pathOfFile(DOING, file, `as the second part of item ${index + 1}`) };
  }
  throw typeError(
    `${DOING} takes a string, a URL or a Request as the first part of item ${index + 1}`,
  );
}

/** Where an item without a host is resolved, to see which it is. */
const NOWHERE = "http://nowhere.invalid";

/** Queries hold keys and signatures; so may a user name and a password before a host. */
function withoutQuery(input: string | URL | Request): string {
  const text = input instanceof Request ? input.url : String(input);
  const url = URL.parse(text, NOWHERE);
  if (url === null) return "an address that cannot be parsed";
  return url.origin === NOWHERE ? text.replace(/[?#].*$/s, "") : url.origin + url.pathname;
}

/** Systems whose file names differ in more than their case. */
const FOLDS_CASE = Deno.build.os === "windows" || Deno.build.os === "darwin";
