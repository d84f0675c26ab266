/**
 * Downloads: requests until a file is whole (`download.ts`), many files at once (`download_all.ts`),
 * where the bytes go meanwhile (`download_target.ts`), and what an answer says of the file
 * (`representation.ts`). May import api and the folders below it.
 *
 * This file sends the requests for one file.
 */
import { type ApiAccount, NetworkError } from "./auth_fetch.ts";
import { CheckedCall } from "./checked_call.ts";
import { pairsOf, withDefault } from "./headers.ts";
import { type DownloadTarget, type IfExists, openTarget, PartNames } from "./download_target.ts";
import { isEnd, isPacked, isRest, rangeOf, representationOf } from "./representation.ts";
import { isUrl, pathOfUrl } from "../platform/paths.ts";
import { backoffMs, retryAfterMs } from "../platform/backoff.ts";
import { idleTimeout, Stalled, WAIT_LONGER } from "../platform/idle.ts";
import { Pauses } from "../platform/pauses.ts";
import type { World } from "../platform/world.ts";
import { type ApiError, ConfigError, typeError } from "../errors/errors.ts";
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
   * Time limit for a stall, in which the API sends no data, in milliseconds; then the rest is requested
   * again. Default 60 000; 0: none.
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
/** How many requests in a row may bring nothing. */
const MAX_FRUITLESS = 6;
const FIRST_PAUSE_MS = 500;
/** A longer Retry-After is an error. */
export const LONGEST_PAUSE_MS = 300_000;
const PROGRESS_MS = 100;
/** Statuses worth a retry: the API, or a proxy before it, is busy or away for a moment. */
const WORTH_A_RETRY = [429, 502, 503, 504];
const PIECE_BYTES = 262_144;
/** How often a request is sent to an API that has answered nothing yet: its address may be wrong. */
const TRIES_BEFORE_ANSWER = 3;
/** How often to look whether another download has finished a file that is to be kept. */
const LOOK_MS = 100;

/** A request that did not bring the rest of the file. */
interface Setback {
  readonly why: string;
  /** How long to wait before the next request, in milliseconds; `undefined`: by the usual rule. */
  readonly pauseMs?: number | undefined;
  /** The error of the network behind it. */
  readonly cause?: unknown;
  /** Whether the API asked to be left alone: then no other download of the group sends either. */
  readonly isBusy?: boolean;
  /** Whether nothing came for too long. */
  readonly isStall?: boolean;
}

/** What downloads that run at once have in common. */
export class DownloadGroup {
  /** The origins that answered: there a network that fails is worth another try. */
  readonly answered = new Set<string>();
  readonly parts = new PartNames();
  readonly pauses: Pauses;
  readonly #holds = new Set<Promise<void>>();
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #free: number;

  /** @param at How many may send at once. */
  constructor(readonly doing: string, readonly world: World, at = 1) {
    this.pauses = new Pauses(world);
    this.#free = at;
  }

  /** Does what needs the network when there is a place. Others open and finish their files meanwhile. */
  async inPlace<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#nextPlace(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.resolve();
      else this.#free++;
    }
  }

  async #nextPlace(signal: AbortSignal | undefined): Promise<void> {
    const place = Promise.withResolvers<void>();
    const abort = () => {
      const at = this.#waiting.indexOf(place);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      place.reject(signal?.reason);
    };
    this.#waiting.push(place);
    signal?.addEventListener("abort", abort);
    try {
      await place.promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** From now on nobody sends for so many milliseconds. */
  hold(ms: number, why: string, signal: AbortSignal | undefined): void {
    const hold = this.pauses.pause(ms, why, signal).then(() => {
      this.#holds.delete(hold);
    });
    this.#holds.add(hold);
  }

  /** Waits until one may send. */
  async turn(signal: AbortSignal | undefined): Promise<void> {
    while (this.#holds.size > 0) {
      await Promise.all(this.#holds);
      signal?.throwIfAborted();
    }
  }
}

/** The path of a file that was given. @throws {TypeError} If it is none. */
export function pathOfFile(doing: string, file: unknown, where: string): string {
  const isText = typeof file === "string" && file !== "";
  const path = file instanceof URL || (isText && isUrl(file)) ? pathOfUrl(file) : file;
  const problem = `${doing} takes a file's path or file: URL ${where}`;
  if (typeof path !== "string" || path === "") throw typeError(problem);
  // A folder with that name could cost its maker the home folder.
  if (/^~([\\/]|$)/.test(path)) throw typeError(`${problem}; ~ is a folder only in a shell`);
  return path;
}

/**
 * Saves an answer as a file. A transfer that breaks resumes where it was, as long as each further
 * request brings something. Each request is sent like any call: with a current token, to the address
 * that was given, so that a redirect leads to a presigned address that is good now.
 *
 * @throws {ConfigError} If the file cannot be saved there; where that can be known, before anything
 *   is sent.
 * @throws {ApiError} `API_STATUS`, `API_BODY` for a web page or nothing, `API_TIMEOUT` where nothing
 *   comes, `DOWNLOAD_BROKEN` if the file is not whole.
 */
export async function downloadTo(
  account: ApiAccount,
  input: string | URL | Request,
  file: string,
  options: DownloadOptions,
  signal: AbortSignal | undefined,
  group: DownloadGroup = new DownloadGroup("download()", account.world),
): Promise<Download> {
  const started = account.world.monotonic();
  const { doing } = group;
  const idleMs = idleTimeout(doing, options.idleTimeoutMs);
  const ifExists = ifExistsOf(doing, options);
  const call = new CheckedCall(doing, account, input, options.init ?? {}, signal, idleMs);
  checkHeaders(call);
  const kept = (bytes: number): Download => {
    const milliseconds = Math.round(account.world.monotonic() - started);
    return { file, bytes, resumedFrom: 0, milliseconds, kept: true };
  };
  const target = await openWhenFree(call, file, ifExists, options.resume ?? true, group);
  if ("kept" in target) return kept(target.kept);
  // Released at once: the next call must find the file free, however late this one ends.
  const release = () => target.release();
  signal?.addEventListener("abort", release);
  try {
    signal?.throwIfAborted();
    const transfer = new Transfer(call, file, target, options.onProgress, group);
    await group.inPlace(signal, () => transfer.run());
    await check(call, target);
    const bytes = target.size;
    if (!await target.finish()) return kept(Deno.statSync(file).size);
    return {
      file,
      bytes,
      resumedFrom: transfer.resumedFrom,
      ...(transfer.contentType !== undefined && { contentType: transfer.contentType }),
      milliseconds: Math.round(account.world.monotonic() - started),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", release);
    target.release();
    call.release();
  }
}

const IF_EXISTS: readonly unknown[] = ["error", "keep", "replace"] satisfies IfExists[];

/** @throws {TypeError} For any other value. */
export function ifExistsOf(
  doing: string,
  { ifExists }: Pick<DownloadOptions, "ifExists">,
  byDefault: IfExists = "error",
): IfExists {
  if (ifExists !== undefined && !IF_EXISTS.includes(ifExists)) {
    throw typeError(`${doing} takes "error", "keep" or "replace" as ifExists`);
  }
  return ifExists ?? byDefault;
}

/**
 * Opens the target. While another download saves a file that would be kept, this one waits for it, as
 * long as that one goes on.
 */
async function openWhenFree(
  call: CheckedCall,
  file: string,
  ifExists: IfExists,
  resume: boolean,
  { parts }: DownloadGroup,
): Promise<DownloadTarget | { readonly kept: number }> {
  const { account: { world }, address, idleMs, signal } = call;
  // A download waits no longer than that for the API. This one was stopped, and holds its file.
  const longestMs = MAX_FRUITLESS * (idleMs + LONGEST_PAUSE_MS);
  let size = -1;
  let since = world.monotonic();
  for (let looks = 0;; looks++) {
    const options = { ifExists, resume: resume && call.method === "GET", parts };
    const target = await openTarget(file, address, options);
    if (!("busy" in target)) return target;
    if (target.busy !== size) [size, looks, since] = [target.busy, 0, world.monotonic()];
    // By the looks, too: while the computer slept, the other one slept as well.
    const isStopped = Math.min(looks * LOOK_MS, world.monotonic() - since) > longestMs;
    if (idleMs > 0 && isStopped) {
      throw new ConfigError(
        "INVALID_SETTING",
        `Cannot save ${file}: another download is saving it, and gets nothing`,
        "end that one, or name another file",
      );
    }
    await world.sleep(LOOK_MS, signal);
    await nextTurn();
    signal?.throwIfAborted();
  }
}

/** Lets all else that is due happen, such as a Stop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function check(call: CheckedCall, target: DownloadTarget): Promise<void> {
  const { digest } = target.of;
  if (digest === undefined || await target.matches(digest)) return;
  target.discard();
  const algorithm = digest.algorithm.toUpperCase();
  const seen = `its ${algorithm} is not the one that the API gave, so it was removed`;
  throw broken(call, seen, "run it again");
}

/** What can be saved, and what not. @throws {TypeError} */
export function checkHeaders(
  call: Pick<CheckedCall, "doing" | "method" | "headers">,
): void {
  const { doing, method } = call;
  if (method === "HEAD") {
    throw typeError(`${doing} saves a body, and HEAD has none; use authFetch()`);
  }
  if (namesHeader(call, /^(range|if-range)$/i)) {
    throw typeError(`${doing} saves whole files and sets range itself; use authFetch() for a part`);
  }
}

/** Whether the user gave such a header. */
function namesHeader({ headers }: Pick<CheckedCall, "headers">, pattern: RegExp): boolean {
  return pairsOf(headers).some(([name = ""]) => pattern.test(name));
}

function broken(call: CheckedCall, why: string, fix: string, cause?: unknown): ApiError {
  return call.error("DOWNLOAD_BROKEN", `Cannot download ${call.url} (${why})`, fix, { cause });
}

/** The requests of one download. */
class Transfer {
  resumedFrom: number;
  contentType: string | undefined;
  readonly #call: CheckedCall;
  readonly #file: string;
  readonly #target: DownloadTarget;
  readonly #onProgress: DownloadOptions["onProgress"];
  readonly #group: DownloadGroup;
  #shownAt = -Infinity;
  /** Whether the last request was sent because a presigned address had expired. */
  #askedAnew = false;
  /** Asks for an answer that is not packed: only then length and ranges are those of the file. */
  #wantsPlain: boolean;

  constructor(
    call: CheckedCall,
    file: string,
    target: DownloadTarget,
    onProgress: DownloadOptions["onProgress"],
    group: DownloadGroup,
  ) {
    this.#group = group;
    this.#call = call;
    this.#file = file;
    this.#target = target;
    this.#wantsPlain = call.isSafe && !namesHeader(call, /^accept-encoding$/i);
    this.#onProgress = onProgress;
    this.resumedFrom = target.size;
  }

  /** Sends requests until the file is whole. */
  async run(): Promise<void> {
    const { account: { world }, isSafe, signal } = this.#call;
    let furthest = this.#target.size;
    let fruitless = 0;
    this.#show(true);
    this.#shownAt = -Infinity;
    while (true) {
      await this.#group.turn(signal);
      const setback = await this.#attempt(fruitless + 1);
      if (setback === undefined) return this.#show(true);
      const { size, of } = this.#target;
      const canResume = size === 0 || of.validator !== undefined;
      if (!canResume || !isSafe) throw this.#brokenOff(setback, setback.why, "try again");
      fruitless = size > furthest ? 0 : fruitless + 1;
      furthest = Math.max(furthest, size);
      if (fruitless >= MAX_FRUITLESS) {
        const fix = this.#target.isKept ? "run it again, it goes on from there" : "try again";
        const why = `${setback.why}, ${fruitless} times in a row`;
        throw this.#brokenOff(setback, why, fix);
      }
      const usual = fruitless === 0 ? 0 : backoffMs(fruitless, FIRST_PAUSE_MS, world.random);
      const pauseMs = setback.pauseMs ?? usual;
      if (setback.isBusy) this.#group.hold(pauseMs, setback.why, signal);
      else if (pauseMs > 0) await this.#group.pauses.pause(pauseMs, setback.why, signal);
      signal?.throwIfAborted();
    }
  }

  /** Sends one request. @returns `undefined` if the file is whole. */
  async #attempt(attempts: number): Promise<Setback | undefined> {
    const { size, of } = this.#target;
    let response: Response;
    try {
      response = await this.#call.send(this.#headers());
    } catch (error) {
      this.#call.signal?.throwIfAborted();
      if (error instanceof Stalled) return { why: error.message, isStall: true };
      if (!(error instanceof NetworkError)) throw error;
      const tries = this.#call.isSafe ? TRIES_BEFORE_ANSWER : 1;
      if (!this.#group.answered.has(this.#origin) && attempts >= tries) throw error;
      return { why: error.reason, cause: error.cause };
    }
    this.#group.answered.add(this.#origin);
    const { status } = response;
    if (status === 206 && size > 0) return await this.#resume(response);
    if (status === 416 && size > 0) {
      await response.body?.cancel();
      if (isEnd(response.headers, size, of)) return undefined;
      return this.#anew("the API has another version than the one that was begun");
    }
    if (response.ok && status !== 206) return await this.#begin(response);
    return await this.#refused(response, attempts);
  }

  get #origin(): string {
    return new URL(this.#call.url).origin;
  }

  #headers(): string[][] {
    const given = pairsOf(this.#call.headers);
    const headers = this.#wantsPlain ? withDefault(given, "accept-encoding", "identity") : given;
    const { size, of } = this.#target;
    if (size === 0) return headers;
    return [...headers, ["range", `bytes=${size}-`], ["if-range", of.validator ?? ""]];
  }

  /** Reads an answer that holds the rest of the file. */
  async #resume(response: Response): Promise<Setback | undefined> {
    const { size, of } = this.#target;
    if (!isRest(response, size, of)) {
      await response.body?.cancel();
      return this.#anew("the API sent another part or version of the file");
    }
    this.#target.learn(rangeOf(response.headers).total);
    return await this.#read(response);
  }

  /** Reads an answer that holds the file from its first byte. */
  async #begin(response: Response): Promise<Setback | undefined> {
    await this.#call.refuseUnusable(response, this.#file);
    if (this.#wantsPlain && isPacked(response)) {
      // Packed all the same. The runtime unpacks only what it asked for itself.
      await response.body?.cancel();
      this.#wantsPlain = false;
      return this.#anew("the answer is packed");
    }
    const found = representationOf(response);
    this.#target.begin(this.#call.isSafe ? found : { ...found, validator: undefined });
    this.resumedFrom = 0;
    return await this.#read(response);
  }

  /** Begins again with the first byte, at once. */
  #anew(why: string): Setback {
    this.#target.begin({});
    this.resumedFrom = 0;
    return { why, pauseMs: 0 };
  }

  /** Says whether a request that was refused is worth another. @throws {ApiError} `API_STATUS` if not. */
  async #refused(response: Response, attempts: number): Promise<Setback> {
    const { status } = response;
    const waitMs = retryAfterMs(response.headers, this.#call.account.world.now());
    const isPassing = WORTH_A_RETRY.includes(status) && (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    // A presigned address ends with its time; the API gives a new one.
    const hasExpired = isElsewhere(response, this.#call) && status < 500 && !this.#askedAnew;
    if (!this.#call.isSafe || attempts >= MAX_FRUITLESS || !(isPassing || hasExpired)) {
      throw await this.#call.statusError(response, attempts);
    }
    await response.body?.cancel();
    this.#askedAnew = !isPassing;
    return {
      why: `the API answered ${status}`,
      pauseMs: isPassing ? waitMs : 0,
      isBusy: isPassing && (status === 429 || waitMs !== undefined),
    };
  }

  /** Writes a body to the target. */
  async #read(response: Response): Promise<Setback | undefined> {
    this.contentType = response.headers.get("content-type") ?? undefined;
    const target = this.#target;
    let breakage: BodyError | Stalled | undefined;
    try {
      await this.#copy(response);
    } catch (error) {
      this.#call.signal?.throwIfAborted();
      if (!(error instanceof BodyError || error instanceof Stalled)) throw error;
      breakage = error;
    }
    const { size, of: { total } } = target;
    // After its last byte a connection may break: the file is whole.
    const isWhole = total === undefined ? breakage === undefined : size === total;
    if (isWhole) return undefined;
    if (total === undefined || size < total) {
      if (breakage instanceof Stalled) return { why: breakage.message, isStall: true };
      return { why: "the answer broke off", cause: breakage?.cause };
    }
    target.discard();
    throw broken(this.#call, "the API sent more than it announced", "try again");
  }

  async #copy({ body }: Response): Promise<void> {
    if (body === null) return;
    this.#askedAnew = false;
    const { size, of: { total = Infinity } } = this.#target;
    for await (const piece of piecesOf(body, this.#call, total - size)) {
      const written = this.#target.write(piece);
      if (written) await written;
      this.#show(false);
    }
  }

  #show(isEnd: boolean): void {
    if (this.#onProgress === undefined) return;
    const now = this.#call.account.world.monotonic();
    if (!isEnd && now - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = now;
    const { size, of: { total } } = this.#target;
    this.#onProgress({ bytes: size, ...(total !== undefined && { total }) });
  }

  #brokenOff({ isStall, cause }: Setback, why: string, fix: string): ApiError {
    const { size, of: { total } } = this.#target;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    const problem = `${why} after ${bytesText(size)}${whole}`;
    if (!isStall) return broken(this.#call, problem, fix, cause);
    const what = `Cannot download ${this.#call.url} (${problem})`;
    return this.#call.error("API_TIMEOUT", what, [fix, WAIT_LONGER]);
  }
}

function isElsewhere({ redirected, url }: Response, call: CheckedCall): boolean {
  return redirected && URL.parse(url)?.origin !== new URL(call.url).origin;
}

/** The body broke off: an error of the network, and not of the disk that it is written to. */
class BodyError extends Error {}

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Reads a body piece by piece. Each piece is valid until the next one is read: where it is
 * possible all of them are read into the same memory. A body that is not read to its end is canceled.
 *
 * @param size Its length: a small file needs little memory.
 * @throws {BodyError} If the body breaks off.
 * @throws {Stalled} If nothing more comes.
 */
async function* piecesOf(
  body: ReadableStream<Bytes>,
  call: CheckedCall,
  size: number,
): AsyncGenerator<Bytes> {
  const reader = readerOf(body);
  let buffer = new ArrayBuffer(Math.max(1, Math.min(size, PIECE_BYTES)));
  try {
    while (true) {
      const { done, value } = await call.more(next(reader, new Uint8Array(buffer)));
      if (done || value === undefined) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

type Reader = ReadableStreamBYOBReader | ReadableStreamDefaultReader<Bytes>;

function readerOf(body: ReadableStream<Bytes>): Reader {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    // The body of a replaced `fetch` may be no byte stream.
    return body.getReader();
  }
}

async function next(reader: Reader, room: Bytes): Promise<ReadableStreamReadResult<Bytes>> {
  try {
    const result = reader instanceof ReadableStreamBYOBReader
      ? await reader.read(room)
      : await reader.read();
    return result as ReadableStreamReadResult<Bytes>;
  } catch (error) {
    if (error instanceof Stalled) throw error;
    throw new BodyError("The body broke off", { cause: error });
  }
}
