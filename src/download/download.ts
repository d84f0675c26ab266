import { JudgedCall } from "../api/answer.ts";
import { type ApiCaller, UNREACHED } from "../api/auth_fetch.ts";
import { openTarget } from "./download_target.ts";
import { BodyError, piecesOf } from "./body_reader.ts";
import { pairsOf, withDefault } from "../api/headers.ts";
import type { DownloadTarget } from "./part_file.ts";
import { isPacked, isRest, rangeOf, representationOf } from "./representation.ts";
import { retryAfterMs } from "../http/backoff.ts";
import { type ApiError, typeError } from "../errors/errors.ts";
import { bytesText } from "../values/wording.ts";

/** Options of {@linkcode download}. */
export interface DownloadOptions {
  /** Whether a file that is there already is replaced. Default `false`: it is an error. */
  overwrite?: boolean;
  /** Whether to go on with what an earlier call left. Default `true`. */
  resume?: boolean;
  /** Method, headers and body of the call, as for `fetch`. Only a GET is gone on with. */
  init?: RequestInit;
  /** Is told how far it is, about ten times a second and at the end. With it no progress line is shown. */
  onProgress?: (progress: DownloadProgress) => void;
  /** Ends the download; what is there is kept for the next call. */
  signal?: AbortSignal;
}

/** How far a download is. */
export interface DownloadProgress {
  /** Bytes that are there, those of earlier calls included. */
  bytes: number;
  /** Length of the whole file in bytes, if the API told it. */
  total?: number;
}

/** A file that was saved. */
export interface Download {
  /** Where it is, as it was given. */
  file: string;
  /** Its length. */
  bytes: number;
  /** How many bytes were there from an earlier call; 0: it was fetched from the first byte. */
  resumedFrom: number;
  /** What the API says it is, such as `text/csv`. */
  contentType?: string;
  /** How long this call took. */
  milliseconds: number;
}

/** How often in a row it is asked for more, and nothing comes. */
const MOST_FRUITLESS = 6;
const FIRST_PAUSE_MS = 500;
/** A longer Retry-After is told and not waited for. */
const LONGEST_PAUSE_MS = 300_000;
const PROGRESS_MS = 100;
/** The API, or what stands before it, will be back. */
const TRANSIENT = [429, 502, 503, 504];

/** A transfer that did not bring the rest: why, and how long to wait. */
interface Broken {
  readonly why: string;
  readonly pauseMs?: number | undefined;
}

/**
 * Saves an answer as a file. A transfer that breaks goes on where it was, as long as each further
 * request brings something. Each of them is sent like any call: with a current token, to the address
 * that was given, so that a redirect leads to a presigned address that is good now.
 *
 * @throws {ConfigError} If the file cannot be saved there. What can be known before is, before anything is sent.
 * @throws {ApiError} `API_STATUS`, `API_BODY` for a web page or nothing, `DOWNLOAD_BROKEN` if the file is not whole.
 */
export async function downloadTo(
  caller: ApiCaller,
  input: string | URL | Request,
  file: string,
  options: DownloadOptions,
  signal: AbortSignal | undefined,
): Promise<Download> {
  const started = caller.world.monotonic();
  const call = new JudgedCall("download()", caller, input, options.init ?? {}, signal);
  checkHeaders(call);
  const { overwrite = false, resume = true } = options;
  const target = await openTarget(file, call.address, {
    overwrite,
    resume: resume && call.method === "GET",
  });
  // At once, so that the next call finds it free, however long this one takes to notice.
  const release = () => target.release();
  signal?.addEventListener("abort", release);
  try {
    signal?.throwIfAborted();
    const transfer = new Transfer(call, file, target, options.onProgress);
    await transfer.run();
    await check(call, target);
    await target.finish();
    return {
      file,
      bytes: target.size,
      resumedFrom: transfer.resumedFrom,
      ...(transfer.contentType !== undefined && { contentType: transfer.contentType }),
      milliseconds: Math.round(caller.world.monotonic() - started),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", release);
    target.release();
  }
}

async function check(call: JudgedCall, target: DownloadTarget): Promise<void> {
  const { digest } = target.of;
  if (digest === undefined || await target.matches(digest)) return;
  target.discard();
  const seen = `its ${digest.algorithm.toUpperCase()} is not the one that the API gave`;
  throw broken(call, `${seen}, so it was removed; run it again`);
}

function checkHeaders({ doing, method, headers }: JudgedCall): void {
  if (method === "HEAD") {
    throw typeError(`${doing} saves a body, and HEAD has none; use authFetch()`);
  }
  if (pairsOf(headers).some(([name = ""]) => /^(range|if-range)$/i.test(name))) {
    throw typeError(`${doing} saves whole files and sets range itself; use authFetch() for a part`);
  }
}

function broken(call: JudgedCall, sentence: string): ApiError {
  return call.error("DOWNLOAD_BROKEN", `Cannot download ${call.url}: ${sentence}`);
}

/** The requests of one download. */
class Transfer {
  resumedFrom: number;
  contentType: string | undefined;
  readonly #call: JudgedCall;
  readonly #file: string;
  readonly #target: DownloadTarget;
  readonly #onProgress: DownloadOptions["onProgress"];
  #shownAt = -Infinity;
  #wasAnswered = false;
  #askedAnew = false;
  /** Of a packed answer neither the length nor a range is that of the file. */
  #wantsPlain: boolean;

  constructor(
    call: JudgedCall,
    file: string,
    target: DownloadTarget,
    onProgress: DownloadOptions["onProgress"],
  ) {
    this.#call = call;
    this.#file = file;
    this.#target = target;
    this.#wantsPlain = call.isSafe;
    this.#onProgress = onProgress;
    this.resumedFrom = target.size;
  }

  /** Until the file is whole. */
  async run(): Promise<void> {
    const { world } = this.#call.caller;
    let furthest = this.#target.size;
    let fruitless = 0;
    this.#show(true);
    this.#shownAt = -Infinity;
    while (true) {
      const end = await this.#attempt(fruitless + 1);
      if (end === undefined) return this.#show(true);
      const { size, of } = this.#target;
      const again = size === 0 || of.validator !== undefined;
      if (!again || !this.#call.isSafe) throw this.#brokenOff(end.why, "try again");
      fruitless = size > furthest ? 0 : fruitless + 1;
      furthest = Math.max(furthest, size);
      if (fruitless >= MOST_FRUITLESS) {
        const next = this.#target.isKept ? "run it again, it goes on from there" : "try again";
        throw this.#brokenOff(`${end.why}, ${fruitless} times in a row`, next);
      }
      const backoff = FIRST_PAUSE_MS * 2 ** (fruitless - 1) * (0.5 + Math.random() / 2);
      const pause = end.pauseMs ?? (fruitless === 0 ? 0 : backoff);
      if (pause > 0) await world.sleep(pause, this.#call.signal);
      this.#call.signal?.throwIfAborted();
    }
  }

  /** One request. @returns `undefined` if the file is whole. */
  async #attempt(attempts: number): Promise<Broken | undefined> {
    const { size, of } = this.#target;
    if (size > 0 && size === of.total) return undefined;
    const given = pairsOf(this.#call.headers);
    const headers = this.#wantsPlain ? withDefault(given, "accept-encoding", "identity") : given;
    const range = size > 0 ? [["range", `bytes=${size}-`], ["if-range", of.validator ?? ""]] : [];
    let response: Response;
    try {
      response = await this.#call.send([...headers, ...range]);
    } catch (error) {
      this.#call.signal?.throwIfAborted();
      // An address that never answered is most likely wrong.
      if (!this.#wasAnswered || !(error instanceof TypeError)) throw error;
      return {
        why: error.message.replace(/^Cannot reach \S+: /, "").replace(`; ${UNREACHED}`, ""),
      };
    }
    this.#wasAnswered = true;
    if (response.status === 416 && size > 0) {
      await response.body?.cancel();
      if (rangeOf(response.headers).total === size) return undefined;
      return this.#anew("the API has less than what is there");
    }
    if (response.status === 206 && size > 0) {
      if (!isRest(response, size, of)) {
        await response.body?.cancel();
        return this.#anew("the API sent another part than the one that was asked for");
      }
      this.#target.learn(rangeOf(response.headers).total);
    } else if (response.ok && response.status !== 206) {
      await this.#call.refuseUnusable(response, this.#file);
      if (this.#wantsPlain && isPacked(response) && headers.length > given.length) {
        // Packed all the same. The runtime unpacks only what it asked for itself.
        await response.body?.cancel();
        this.#wantsPlain = false;
        return this.#anew("the answer is packed");
      }
      const found = representationOf(response);
      this.#target.begin(this.#call.isSafe ? found : { ...found, validator: undefined });
      this.resumedFrom = 0;
    } else return await this.#refused(response, attempts);
    this.contentType = response.headers.get("content-type") ?? undefined;
    return await this.#read(response);
  }

  #anew(why: string): Broken {
    this.#target.begin({});
    this.resumedFrom = 0;
    return { why, pauseMs: 0 };
  }

  async #refused(response: Response, attempts: number): Promise<Broken> {
    const { status } = response;
    const waitMs = retryAfterMs(response.headers, this.#call.caller.world.now());
    const why = `the API answered ${status}`;
    const isPassing = TRANSIENT.includes(status) && (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    // A presigned address ends with its time; the API gives a new one.
    const hasExpired = isElsewhere(response, this.#call) && status < 500 && !this.#askedAnew;
    if (!this.#call.isSafe || attempts >= MOST_FRUITLESS || !(isPassing || hasExpired)) {
      throw await this.#call.statusError(response, attempts);
    }
    await response.body?.cancel();
    this.#askedAnew = !isPassing;
    return { why, pauseMs: isPassing ? waitMs : 0 };
  }

  async #read(response: Response): Promise<Broken | undefined> {
    const target = this.#target;
    try {
      await this.#copy(response);
    } catch (error) {
      this.#call.signal?.throwIfAborted();
      // The runtime's own error says no more than that.
      if (!(error instanceof BodyError)) throw error;
      return { why: "the answer broke off" };
    }
    const { total = target.size } = target.of;
    if (target.size < total) return { why: "the answer broke off" };
    if (target.size === total) return undefined;
    target.discard();
    throw broken(this.#call, "the API sent more than it announced; try again");
  }

  async #copy({ body }: Response): Promise<void> {
    if (body === null) return;
    this.#askedAnew = false;
    for await (const piece of piecesOf(body)) {
      const written = this.#target.write(piece);
      if (written) await written;
      this.#show(false);
    }
  }

  #show(isEnd: boolean): void {
    if (this.#onProgress === undefined) return;
    const now = this.#call.caller.world.monotonic();
    if (!isEnd && now - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = now;
    const { size, of: { total } } = this.#target;
    this.#onProgress({ bytes: size, ...(total !== undefined && { total }) });
  }

  #brokenOff(why: string, next: string): ApiError {
    const { size, of: { total } } = this.#target;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    return broken(this.#call, `${why} after ${bytesText(size)}${whole}; ${next}`);
  }
}

function isElsewhere({ redirected, url }: Response, call: JudgedCall): boolean {
  return redirected && URL.parse(url)?.origin !== new URL(call.url).origin;
}
