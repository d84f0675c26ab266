/**
 * Downloads one file by sending requests until the file is complete. `download_all.ts` downloads
 * many files, `part.ts` writes the bytes, and `version.ts` reads the headers that describe the
 * file.
 */
import type { ApiAccount } from "./auth_fetch.ts";
import { CheckedCall } from "./checked_call.ts";
import { checkedHeaders } from "./headers.ts";
import { Outlet } from "./outlet.ts";
import { type IfExists, openTarget, type Target } from "./part.ts";
import { isElsewhere } from "./redirects.ts";
import { Reports } from "./reports.ts";
import { onDisk } from "./save_errors.ts";
import { encodingOf, isRest, NO_VERSION, totalIn, type Version, versionOf } from "./version.ts";
import { isUrl, pathOfUrl } from "../platform/paths.ts";
import { onAbort } from "../platform/abort.ts";
import { backoffMs, retryAfterMs } from "../platform/backoff.ts";
import { idleTimeout, Stalled, WAIT_LONGER } from "../platform/idle.ts";
import { Pauses } from "../platform/pauses.ts";
import { type Attempt, retry } from "../platform/retry.ts";
import type { World } from "../platform/world.ts";
import { type ApiError, typeError, UnreachableError } from "../errors/errors.ts";
import { bytesText } from "../errors/amounts.ts";

/** Options of {@linkcode download}. */
export interface DownloadOptions {
  /**
   * What to do if the file exists already.
   *
   * - `error` (default): throw `FILE_EXISTS`; nothing is sent.
   * - `keep`: keep it and send nothing; the result has `kept: true`.
   * - `replace`: replace it once the new file is complete.
   */
  ifExists?: "error" | "keep" | "replace";
  /**
   * Maximum time without data from the API, in milliseconds, before the rest is requested again.
   * Default 60 000; 0 means no limit.
   */
  idleTimeoutMs?: number;
  /** Whether to resume an interrupted download of an earlier call. Default `true`. */
  resume?: boolean;
  /** Method, headers and body of the request, as for `fetch`. Only a GET can be resumed. */
  init?: RequestInit;
  /** Called about ten times a second and at the end. Replaces the progress line. */
  onProgress?: (progress: DownloadProgress) => void;
  /** Cancels the download; the next call resumes it. */
  signal?: AbortSignal;
}

/** The progress of a download. */
export interface DownloadProgress {
  /** Bytes on disk, including those of earlier calls. */
  bytes: number;
  /** Length of the complete file in bytes, if known. */
  total?: number;
}

/** A downloaded file; shows as a card in a notebook. */
export interface Download {
  /** Path of the file, as given. */
  file: string;
  /** Length in bytes. */
  bytes: number;
  /** Bytes that an earlier call had downloaded; 0 if the whole file was downloaded now. */
  resumedFrom: number;
  /** Media type according to the API, such as `text/csv`. */
  contentType?: string;
  /** Duration of this call. */
  milliseconds: number;
  /** Present if the file existed already and nothing was sent. */
  kept?: true;
}

/** Maximum number of consecutive requests without new data. */
const MAX_FRUITLESS = 6;
/** The same for a host that has never responded. The address may be wrong. */
const MAX_UNANSWERED = 3;
const FIRST_PAUSE_MS = 500;
/** A download fails if Retry-After asks for a longer pause. */
const LONGEST_PAUSE_MS = 300_000;
/** Statuses worth a retry: the API, or a proxy in front of it, is busy or briefly unavailable. */
const WORTH_A_RETRY = [429, 502, 503, 504];
const PIECE_BYTES = 262_144;
/** Interval at which to check whether another download of the same file has ended. */
const LOOK_MS = 100;

/** The state shared by downloads that run at the same time. */
export class DownloadGroup {
  /** Maximum number of consecutive requests that do not reach a host, by its origin. */
  readonly tries = new Map<string, number>();
  /** Aborts with an error that affects all downloads of the group. */
  readonly end = new AbortController();
  readonly pauses: Pauses;
  #hold: Promise<unknown> = Promise.resolve();
  #free: number;
  #freed = Promise.withResolvers<void>();

  /** @param transfers Maximum number of downloads that use the network at the same time. */
  constructor(world: World, transfers = 1) {
    this.pauses = new Pauses(world);
    this.#free = transfers;
  }

  /**
   * Does the work when a place on the network is free. Meanwhile, other downloads open and finish
   * their files.
   */
  async inPlace(work: () => Promise<void>): Promise<void> {
    while (this.#free === 0) await this.#freed.promise;
    this.#free--;
    try {
      await work();
    } finally {
      this.#free++;
      this.#freed.resolve();
      this.#freed = Promise.withResolvers();
    }
  }

  /** Pauses the requests of all downloads in the group. */
  hold(ms: number, why: string, signal: AbortSignal | undefined): void {
    this.#hold = Promise.all([this.#hold, this.pauses.pause(ms, why, signal)]);
  }

  /** Waits until requests may be sent. */
  async turn(): Promise<void> {
    let hold;
    do await (hold = this.#hold); while (hold !== this.#hold);
  }
}

/**
 * Returns the path of a file to save.
 *
 * @param name The name of the argument in an error message.
 * @throws {TypeError} If it is neither a path nor a `file:` URL.
 */
export function pathOfFile(file: unknown, name = "The file to save"): string {
  const isText = typeof file === "string" && file !== "";
  const path = file instanceof URL || (isText && isUrl(file)) ? pathOfUrl(file) : file;
  const problem = `${name} must be a path or file: URL`;
  if (typeof path !== "string" || path === "") throw typeError(problem);
  // A user who later deletes a folder named ~ in a shell would delete the home folder.
  if (/^~([\\/]|$)/.test(path)) throw typeError(`${problem}; only a shell knows ~`);
  return path;
}

const IF_EXISTS: readonly unknown[] = ["error", "keep", "replace"] satisfies IfExists[];

/** @throws {TypeError} If the value is not one of the three. */
export function checkIfExists(ifExists: unknown): void {
  if (ifExists === undefined || IF_EXISTS.includes(ifExists)) return;
  throw typeError('ifExists must be "error", "keep" or "replace"');
}

/** @throws {TypeError} For a request whose response is not a whole file. */
export function checkRequest(method: string, given: HeadersInit | undefined): void {
  if (method === "HEAD") throw typeError("HEAD has no body to save; use authFetch()");
  const headers = checkedHeaders(given);
  if (headers.has("range") || headers.has("if-range")) {
    throw typeError(
      "A download saves whole files and sets the range header itself; use authFetch() for part of a file",
    );
  }
}

/**
 * Saves a response as a file. Waits while another download saves the same file.
 *
 * @throws {ConfigError} If the file cannot be saved, before anything is sent if possible.
 * @throws {ApiError} `API_STATUS`; `API_BODY` for a web page or an empty body; `API_TIMEOUT` if no
 * data arrives; `DOWNLOAD_BROKEN` if the file is incomplete.
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
  const reports = new Reports(account.world, () => last && options.onProgress?.(last));
  const onPiece = (progress: DownloadProgress) => {
    last = progress;
    reports.soon();
  };
  try {
    const saved = await whenFree(account, signal, () => {
      const group = new DownloadGroup(account.world);
      return downloadUnlessBusy(account, input, file, { ...options, onPiece }, signal, group);
    });
    reports.now();
    return saved;
  } finally {
    reports.end();
  }
}

/** Tries a download again for as long as another download saves the same file. */
export function whenFree<T>(
  { world }: ApiAccount,
  signal: AbortSignal | undefined,
  save: () => Promise<T | "busy">,
): Promise<T> {
  return retry(world, signal, async (): Promise<Attempt<T>> => {
    const saved = await save();
    if (saved !== "busy") return { done: saved };
    return { pauseMs: LOOK_MS, why: "another download is saving it" };
  });
}

/** Options of one file. */
export interface FileOptions extends Omit<DownloadOptions, "onProgress" | "signal"> {
  /** Called for each piece. */
  readonly onPiece: (progress: DownloadProgress) => void;
}

/**
 * Saves a response as a file. A transfer that breaks off is resumed for as long as further requests
 * deliver data. Each request has a current token and goes to the original address, so that the API
 * can redirect it to a presigned address that is still valid.
 *
 * @returns `busy` if another download is saving the file.
 */
export async function downloadUnlessBusy(
  account: ApiAccount,
  input: string | URL | Request,
  file: string,
  options: FileOptions,
  signal: AbortSignal | undefined,
  group: DownloadGroup,
): Promise<Download | "busy"> {
  const { monotonic } = account.world;
  const started = monotonic();
  const { ifExists = "error", resume = true, init = {}, idleTimeoutMs, onPiece } = options;
  const call = new CheckedCall(account, input, init, signal, idleTimeout(idleTimeoutMs));
  checkRequest(call.method, call.headers);
  const canResume = resume && call.method === "GET";
  const target = await onDisk(
    file,
    () => openTarget(file, call.address, ifExists, canResume, signal),
  );
  if (target === "busy") return target;
  const passed = () => ({ milliseconds: Math.round(monotonic() - started) });
  const kept = (bytes: number): Download => {
    return { file, bytes, resumedFrom: 0, ...passed(), kept: true };
  };
  if (typeof target === "number") return kept(target);
  // Released in the abort event, because the caller's next call must find the file free even if
  // this call ends later.
  const stopListening = onAbort(signal, () => target.release());
  try {
    const transfer = new Transfer(call, file, target, onPiece, group);
    await group.inPlace(() => transfer.run());
    await check(call, target);
    const bytes = target.size;
    const found = await onDisk(file, () => target.finish());
    if (found !== undefined) return kept(found);
    const { resumedFrom, contentType } = transfer;
    return { file, bytes, resumedFrom, ...(contentType && { contentType }), ...passed() };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    target.release();
    call.release();
  }
}

async function check(call: CheckedCall, target: Target): Promise<void> {
  const { digest } = target.version;
  if (digest === undefined || target instanceof Outlet || await target.matches(digest)) return;
  target.discard();
  const algorithm = digest.algorithm.toUpperCase();
  throw broken(
    call,
    `its ${algorithm} checksum differs from the one that the API sent, so the file was removed`,
  );
}

function broken(call: CheckedCall, why: string): ApiError {
  return call.error("DOWNLOAD_BROKEN", `Cannot download ${call.url} (${why})`, "run it again");
}

/** A request that did not complete the file. */
interface Setback {
  readonly why: string;
  /** Pause before the next request, in milliseconds; `undefined`: the usual backoff. */
  readonly pauseMs?: number | undefined;
  /** The underlying error: a network error or `Stalled`. */
  readonly cause?: unknown;
  /** Whether the API is overloaded, so that all downloads of the group pause. */
  readonly isBusy?: boolean;
}

const BROKE_OFF = "the response broke off";

/** The requests of one download. */
class Transfer {
  resumedFrom: number;
  contentType: string | undefined;
  /**
   * Whether to request a response without an encoding. Otherwise, length and ranges are not those
   * of the file.
   */
  #wantsPlain: boolean;

  constructor(
    readonly call: CheckedCall,
    readonly file: string,
    readonly target: Target,
    readonly onPiece: FileOptions["onPiece"],
    readonly group: DownloadGroup,
  ) {
    this.#wantsPlain = call.isSafe;
    this.resumedFrom = target.size;
  }

  /** Sends requests until the file is complete. */
  run(): Promise<void> {
    const { account: { world }, isSafe, signal } = this.call;
    let furthest = this.target.size;
    let fruitless = 0;
    this.#report();
    return retry(world, signal, async (): Promise<Attempt<void>> => {
      await this.group.turn();
      const setback = await this.#attempt(fruitless + 1);
      if (setback === undefined) return { done: undefined };
      const { size, version } = this.target;
      fruitless = size > furthest ? 0 : fruitless + 1;
      furthest = Math.max(furthest, size);
      const canContinue = isSafe && (size === 0 || version.validator !== undefined);
      if (!canContinue || fruitless >= MAX_FRUITLESS) throw this.#brokenOff(setback, fruitless);
      const usual = fruitless === 0 ? 0 : backoffMs(fruitless, FIRST_PAUSE_MS, world.random);
      const { why, pauseMs = usual, isBusy } = setback;
      if (!isBusy) return { pauseMs, why };
      this.group.hold(pauseMs, why, signal);
      return { pauseMs: 0, why };
    }, this.group.pauses);
  }

  /** Sends one request. @returns `undefined` if the file is complete. */
  async #attempt(attempts: number): Promise<Setback | undefined> {
    const { size, version } = this.target;
    let response: Response;
    try {
      response = await this.call.send(this.#headers());
    } catch (error) {
      this.call.signal?.throwIfAborted();
      return this.#unreachable(error, attempts);
    }
    this.group.tries.set(new URL(this.call.url).origin, MAX_FRUITLESS);
    const { status } = response;
    if (size > 0 && (status === 206 || status === 416)) {
      if (!isRest(response, size, version)) return this.#startOver(response);
      if (status === 416) {
        await response.body?.cancel();
        return undefined;
      }
      this.target.version = { ...version, total: version.total ?? totalIn(response.headers) };
      return await this.#read(response);
    }
    if (response.ok && status !== 206) return await this.#begin(response);
    return await this.#refused(response, attempts);
  }

  /** Decides whether a host that sent no response is worth another request; throws if not. */
  #unreachable(error: unknown, attempts: number): Setback {
    const isStall = error instanceof Stalled;
    if (!isStall && !(error instanceof UnreachableError)) throw error;
    const setback = { why: isStall ? error.message : "no connection", cause: error };
    const { tries, end } = this.group;
    const { origin } = new URL(this.call.url);
    const { origin: host } = new URL(this.call.sentTo);
    // The API redirected to that host.
    if (host !== origin) tries.set(origin, MAX_FRUITLESS);
    if (this.call.isSafe && attempts < (tries.get(host) ?? MAX_UNANSWERED)) return setback;
    const failure = isStall ? this.#brokenOff(setback, attempts) : error;
    if (tries.size === 0) end.abort(failure);
    // Other downloads from this host fail after one request.
    if (!tries.has(host)) tries.set(host, 1);
    throw failure;
  }

  #headers(): Headers {
    const headers = checkedHeaders(this.call.headers);
    headers.delete("accept-encoding");
    if (this.#wantsPlain) headers.set("accept-encoding", "identity");
    const { size, version } = this.target;
    if (size > 0) {
      headers.set("range", `bytes=${size}-`);
      headers.set("if-range", version.validator ?? "");
    }
    return headers;
  }

  /** Reads a response that contains the file from its first byte. */
  async #begin(response: Response): Promise<Setback | undefined> {
    await this.call.refuseUnusable(response, this.file);
    const encoding = encodingOf(response);
    if (encoding !== "" && this.#wantsPlain) {
      // The runtime decodes a response only if the runtime set accept-encoding.
      this.#wantsPlain = false;
      return this.#startOver(response);
    }
    if (!/^(gzip|br)?$/.test(encoding)) {
      await response.body?.cancel();
      const what = this.call.quote(encoding, response, 80);
      throw this.call.bodyError(response, {
        problem: `it is encoded with ${what}, and was not saved`,
        fix: "ask the support channel of your subscription for files without this encoding",
      });
    }
    await this.#beginWith(encoding === "" ? versionOf(response.headers) : NO_VERSION);
    return await this.#read(response);
  }

  /** Starts again at the first byte, without a pause. */
  async #startOver({ body }: Response): Promise<Setback> {
    body?.cancel().catch(() => {});
    await this.#beginWith(NO_VERSION);
    return { why: "the API sent another part or version of the file", pauseMs: 0 };
  }

  async #beginWith(version: Version): Promise<void> {
    await onDisk(this.file, () => this.target.begin(version));
    this.resumedFrom = 0;
  }

  /**
   * Decides whether to repeat a refused request.
   * @throws {ApiError} `API_STATUS` if not.
   */
  async #refused(response: Response, attempts: number): Promise<Setback> {
    const { status } = response;
    const waitMs = retryAfterMs(response.headers, this.call.account.world.now());
    const isBrief = (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    const isPassing = WORTH_A_RETRY.includes(status) && isBrief;
    const isFromStore = isElsewhere(response, this.call.url);
    // A presigned address may have expired; the API returns a new one.
    const hasExpired = isFromStore && status < 500 && attempts === 1;
    if (!this.call.isSafe || attempts >= MAX_FRUITLESS || !(isPassing || hasExpired)) {
      const error = await this.call.statusError(response, attempts);
      const concernsAll = status === 401 && !isFromStore || status === 429 && !isBrief;
      if (concernsAll) this.group.end.abort(error);
      throw error;
    }
    await response.body?.cancel();
    return {
      why: `the API answered ${status}`,
      pauseMs: isPassing ? waitMs : 0,
      isBusy: isPassing && (status === 429 || waitMs !== undefined),
    };
  }

  /** Writes a body to the target. */
  async #read(response: Response): Promise<Setback | undefined> {
    const type = response.headers.get("content-type");
    this.contentType = type === null ? undefined : this.call.quote(type, response);
    const breakage = response.body === null ? undefined : await this.#copy(response.body);
    const { size, version: { total } } = this.target;
    if (total === undefined) return breakage;
    // If the connection breaks after the last byte, the file is complete.
    if (size === total) return undefined;
    if (size < total) return breakage ?? { why: BROKE_OFF };
    this.target.discard();
    throw broken(this.call, "the API sent more bytes than it announced");
  }

  /**
   * Copies a body piece by piece, through one buffer if possible.
   *
   * @returns The reason if the body broke off.
   */
  async #copy(body: ReadableStream<Bytes>): Promise<Setback | undefined> {
    const { size, version: { total = Infinity } } = this.target;
    // A small file needs only a small buffer.
    let buffer = new ArrayBuffer(Math.max(1, Math.min(total - size, PIECE_BYTES)));
    const reader = readerOf(body);
    try {
      while (true) {
        let piece: ReadableStreamReadResult<Bytes>;
        try {
          piece = await this.call.more(reader.read(new Uint8Array(buffer)));
        } catch (cause) {
          this.call.signal?.throwIfAborted();
          return { why: cause instanceof Stalled ? cause.message : BROKE_OFF, cause };
        }
        const { done, value } = piece;
        if (done) return undefined;
        await onDisk(this.file, () => this.target.write(value));
        this.#report();
        buffer = value.buffer;
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  #report(): void {
    const { size, version: { total } } = this.target;
    this.onPiece({ bytes: size, ...(total !== undefined && { total }) });
  }

  #brokenOff({ why, cause }: Setback, times: number): ApiError {
    const { size, version: { total } } = this.target;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    const often = times > 1 ? `, ${times} times in a row` : "";
    const what = `Cannot download ${this.call.url} (${why}${often} after ${
      bytesText(size)
    }${whole})`;
    const fix = "run it again to resume it, if the API allows that";
    return cause instanceof Stalled
      ? this.call.error("API_TIMEOUT", what, [fix, WAIT_LONGER])
      : this.call.error("DOWNLOAD_BROKEN", what, fix, { cause });
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Reader {
  /** @param room Buffer for the piece; a default reader ignores it. */
  read(room: Bytes): Promise<ReadableStreamReadResult<Bytes>>;
  cancel(): Promise<void>;
}

function readerOf(body: ReadableStream<Bytes>): Reader {
  try {
    return body.getReader({ mode: "byob" }) as Reader;
  } catch {
    // A `fetch` that tests replace may return a body that is not a byte stream.
    return body.getReader();
  }
}
