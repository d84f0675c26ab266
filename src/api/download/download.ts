/**
 * Downloads one file. `transfer.ts` sends requests until the file is complete, `part.ts` writes the
 * bytes, and `version.ts` reads the headers that describe the file. `download_all.ts` downloads
 * many files, and `items.ts` checks their list. A download knows no session, only its account.
 */
import type { ApiAccount } from "../account.ts";
import { CheckedCall } from "../checked_call.ts";
import { DownloadGroup } from "./download_group.ts";
import { type IfExists, openPart, type Part } from "./part.ts";
import { Reports } from "./reports.ts";
import { onDisk } from "../save_errors.ts";
import { type DownloadProgress, Transfer } from "./transfer.ts";
import { onAbort } from "../../platform/abort.ts";
import { idleTimeout } from "../idle.ts";
import { isUrl, pathOfUrl } from "../../files/paths.ts";
import { retry } from "../../platform/retry.ts";
import { typeError } from "../../errors/errors.ts";

/** Options of {@linkcode download}. */
export interface DownloadOptions {
  /**
   * How to treat a file that already exists.
   *
   * - `keep` (default): keep it and send nothing; the result has `kept: true`.
   * - `error`: throw `FILE_EXISTS`; nothing is sent.
   * - `replace`: replace it once the new file is complete.
   */
  ifExists?: "keep" | "error" | "replace";
  /**
   * Maximum time without data from the API, in milliseconds, before the rest is requested again.
   * Default 60 000; 0 means no limit.
   */
  idleTimeoutMs?: number;
  /** Whether to resume a download that an earlier call did not complete. Default `true`. */
  resume?: boolean;
  /** Method, headers and body of the request, as for `fetch`. Only a GET can be resumed. */
  init?: RequestInit;
  /** Called about ten times a second and at the end. Replaces the progress line. */
  onProgress?: (progress: DownloadProgress) => void;
  /** Cancels the download; the next call can resume it. */
  signal?: AbortSignal;
}

/** A downloaded file; shows as a card in a notebook. */
export interface Download {
  /** Path of the file, as given. */
  file: string;
  /** Length in bytes. */
  bytes: number;
  /** Number of bytes that an earlier call downloaded; 0 if this call downloaded the whole file. */
  resumedFrom: number;
  /** Media type according to the API, such as `text/csv`. */
  contentType?: string;
  /** Duration of this call. */
  milliseconds: number;
  /** Present if the file existed already and was kept. */
  kept?: true;
}

/** The pauses while another download saves the same file. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Returns the path of a file to save.
 *
 * @param name The name of the argument in an error message.
 * @throws {TypeError} If the value is neither a path nor a `file:` URL.
 */
export function pathOfFile(file: unknown, name = "The file to save"): string {
  const isText = typeof file === "string" && file !== "";
  const path = file instanceof URL || (isText && isUrl(file)) ? pathOfUrl(file) : file;
  const problem = `${name} must be a path or file: URL`;
  if (typeof path !== "string" || path === "") throw typeError(problem);
  // `~` is refused, because the runtime would create a folder named `~`. To delete that folder, a
  // user might type `rm -r ~`, which deletes the home folder.
  if (/^~([\\/]|$)/.test(path)) {
    throw typeError(
      `${problem}, and cannot begin with ~: only a shell replaces ~ with your home folder`,
    );
  }
  return path;
}

const IF_EXISTS: readonly unknown[] = ["keep", "error", "replace"] satisfies IfExists[];

/** @throws {TypeError} If the value is not `keep`, `error` or `replace`. */
export function checkIfExists(ifExists: unknown): void {
  if (ifExists === undefined || IF_EXISTS.includes(ifExists)) return;
  throw typeError('ifExists must be "keep", "error" or "replace"');
}

/**
 * Saves a response as a file.
 *
 * @throws {ConfigError} `FILE`, `FILE_EXISTS` or `PERMISSION` if the file cannot be saved. Most
 * causes are detected before anything is sent.
 * @throws {ApiError} `API_STATUS` if the status is an error; `API_BODY` if the response is not the
 * file, such as a web page or a 202; `API_TIMEOUT` if no data arrives; `DOWNLOAD_BROKEN` if the file
 * is incomplete.
 */
export async function downloadTo(
  account: ApiAccount,
  input: string | URL | Request,
  file: string,
  options: DownloadOptions,
  signal: AbortSignal | undefined,
): Promise<Download> {
  checkIfExists(options.ifExists);
  let last: DownloadProgress | undefined;
  const group = new DownloadGroup(account.world);
  const reports = new Reports(account.world, () => last && options.onProgress?.(last));
  const onPiece = (progress: DownloadProgress) => {
    last = progress;
    reports.soon();
  };
  try {
    const saved = await downloadFile(account, input, file, { ...options, onPiece }, signal, group);
    reports.now();
    return saved;
  } finally {
    group.close();
    reports.end();
  }
}

/** Options for one file. */
export interface FileOptions extends Omit<DownloadOptions, "onProgress" | "signal"> {
  /** Called for each piece of the file. */
  readonly onPiece: (progress: DownloadProgress) => void;
}

/** Saves a response as a file. Waits while another download saves the same file. */
export async function downloadFile(
  account: ApiAccount,
  input: string | URL | Request,
  file: string,
  options: FileOptions,
  signal: AbortSignal | undefined,
  group: DownloadGroup,
): Promise<Download> {
  const { monotonic } = account.world;
  const started = monotonic();
  const { ifExists = "keep", resume = true, init = {}, idleTimeoutMs, onPiece } = options;
  const call = new CheckedCall(account, input, init, signal, idleTimeout(idleTimeoutMs));
  const { address, method } = call.request;
  if (method === "HEAD") throw typeError("HEAD has no body to save; use authFetch()");
  const canResume = resume && method === "GET";
  const part = await retry<Part | number>(account.world, signal, async (count) => {
    const part = await onDisk(file, () => openPart(file, address, ifExists, canResume));
    if (part !== "busy") return { done: part };
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS);
    return { pauseMs, why: "another download is saving the file" };
  });
  const passed = () => ({ milliseconds: Math.round(monotonic() - started) });
  const kept = (bytes: number): Download => {
    return { file, bytes, resumedFrom: 0, ...passed(), kept: true };
  };
  if (typeof part === "number") return kept(part);
  // The file is released as soon as the signal aborts. The caller's next call can then open the
  // file, even if this call has not ended yet.
  const stopListening = onAbort(signal, () => part.release());
  try {
    const transfer = new Transfer(call, file, part, group, onPiece);
    await group.inPlace(signal, () => transfer.run());
    const found = await transfer.finish();
    if (found !== undefined) return kept(found);
    const { resumedFrom, contentType } = transfer;
    const bytes = part.size;
    return { file, bytes, resumedFrom, ...(contentType && { contentType }), ...passed() };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    part.release();
    call.release();
  }
}
