/** The transfer of one file: which request comes next, and what its response means. */
import type { DownloadGroup } from "./download_group.ts";
import { MAX_FRUITLESS } from "./hosts.ts";
import { Outlet } from "./outlet.ts";
import type { Target } from "./part.ts";
import { eachPiece } from "./pieces.ts";
import { refuseEncoding, refuseUseless } from "./savable.ts";
import { encodingOf, isRest, NO_VERSION, totalIn, type Version, versionOf } from "./version.ts";
import type { CheckedCall } from "../checked_call.ts";
import { detourOf } from "../redirects.ts";
import { onDisk } from "../save_errors.ts";
import { backoffMs, retryAfterMs } from "../../platform/backoff.ts";
import { Stalled, WAIT_LONGER } from "../../platform/idle.ts";
import { type Attempt, retry } from "../../platform/retry.ts";
import { bytesText } from "../../errors/amounts.ts";
import { type ApiError, UnreachableError } from "../../errors/errors.ts";

const FIRST_PAUSE_MS = 500;
/** Longest pause before a retry. A download fails if `Retry-After` asks for a longer one. */
const LONGEST_PAUSE_MS = 300_000;
/** Statuses worth a retry: the API, or a proxy in front of it, is busy or briefly unavailable. */
const WORTH_A_RETRY = [429, 502, 503, 504];

/** The progress of a download. */
export interface DownloadProgress {
  /** Number of bytes on disk, including those of earlier calls. */
  bytes: number;
  /** Length of the complete file in bytes, if known. */
  total?: number;
}

/** A request that did not complete the file. */
interface Setback {
  readonly why: string;
  /** Pause before the next request, in milliseconds; `undefined`: the usual backoff. */
  readonly pauseMs?: number | undefined;
  /** The underlying error: a network error or `Stalled`. */
  readonly cause?: unknown;
  /** Whether the API is overloaded, so that all downloads of the group must pause. */
  readonly isBusy?: boolean;
}

/**
 * Sends requests until a file is complete. An interrupted transfer is resumed as long as each
 * further request brings new data. Each request goes to the original address with a current token,
 * so that the API can redirect it to a presigned address that is still valid.
 */
export class Transfer {
  /** Number of bytes of an earlier call; 0 once the file has started over. */
  resumedFrom: number;
  /** Media type according to the API. */
  contentType: string | undefined;
  readonly #origin: string;
  /** The largest number of bytes so far. */
  #furthest: number;
  /** Number of consecutive requests without new data. */
  #fruitless = 0;
  /**
   * Whether to request a response without an encoding. With an encoding, the length and the ranges
   * in the headers are not those of the file.
   */
  #wantsPlain: boolean;

  /**
   * @param file The path of the file, for messages.
   * @param onPiece Called at the start and for each piece.
   */
  constructor(
    private readonly call: CheckedCall,
    private readonly file: string,
    private readonly target: Target,
    private readonly group: DownloadGroup,
    private readonly onPiece: (progress: DownloadProgress) => void,
  ) {
    this.resumedFrom = this.#furthest = target.size;
    this.#origin = new URL(call.request.url).origin;
    this.#wantsPlain = call.request.isSafe;
  }

  async run(): Promise<void> {
    this.#report();
    const { call: { api, signal }, group } = this;
    await retry(api.timing, signal, () => this.#next(), group.pauses);
  }

  /** Sends one request. If the file is still incomplete, decides when the next one follows. */
  async #next(): Promise<Attempt<void>> {
    const { call: { api, request, signal }, group, target } = this;
    await group.turn(signal);
    const setback = await this.#attempt();
    if (setback === undefined) return { done: undefined };
    const { size, version } = target;
    this.#fruitless = size > this.#furthest ? 0 : this.#fruitless + 1;
    if (this.#fruitless === 0) group.pauses.endStretch();
    this.#furthest = Math.max(this.#furthest, size);
    const canContinue = request.isSafe && (size === 0 || version.validator !== undefined);
    if (!canContinue || this.#fruitless >= MAX_FRUITLESS) {
      throw this.#brokenOff(setback, this.#fruitless);
    }
    const usual = this.#fruitless === 0
      ? 0
      : backoffMs(this.#fruitless, FIRST_PAUSE_MS, api.timing.random);
    const { why, pauseMs = usual, isBusy } = setback;
    if (!isBusy) return { pauseMs, why };
    group.hold(pauseMs, why);
    return { pauseMs: 0, why };
  }

  /**
   * Sends one request, and compares the version in its response with that of the bytes on disk.
   *
   * @returns `undefined` if the file is complete.
   */
  async #attempt(): Promise<Setback | undefined> {
    const { call, group, target: { size, version } } = this;
    let response: Response;
    try {
      response = await call.send(this.#headers());
    } catch (error) {
      call.signal?.throwIfAborted();
      return this.#unanswered(error);
    }
    group.hosts.noteResponse(this.#origin);
    const { status } = response;
    if (size > 0 && (status === 206 || status === 416)) {
      if (!isRest(response, size, version)) return await this.#startOver(response);
      return await this.#resume(response);
    }
    if (response.ok && status !== 206) return await this.#begin(response);
    return await this.#refused(response);
  }

  #headers(): Headers {
    const { call: { request }, target: { size, version } } = this;
    const headers = new Headers(request.headers);
    headers.delete("accept-encoding");
    if (this.#wantsPlain) headers.set("accept-encoding", "identity");
    if (size > 0) {
      headers.set("range", `bytes=${size}-`);
      headers.set("if-range", version.validator ?? "");
    }
    return headers;
  }

  /** Reads a response that contains the rest of the file, or says with a 416 that there is none. */
  async #resume(response: Response): Promise<Setback | undefined> {
    const { target } = this;
    if (response.status === 416) {
      await response.body?.cancel();
      return undefined;
    }
    const { version } = target;
    target.version = { ...version, total: version.total ?? totalIn(response.headers) };
    return await this.#read(response);
  }

  /** Reads a response that contains the file from its first byte. */
  async #begin(response: Response): Promise<Setback | undefined> {
    await refuseUseless(this.call, response, this.file);
    const encoding = encodingOf(response);
    if (encoding !== "" && this.#wantsPlain) {
      // The next request leaves accept-encoding to the runtime, so that the runtime decodes the
      // response.
      this.#wantsPlain = false;
      return await this.#startOver(response);
    }
    await refuseEncoding(this.call, response, encoding);
    await this.#beginWith(encoding === "" ? versionOf(response.headers) : NO_VERSION);
    return await this.#read(response);
  }

  /**
   * Discards the bytes so far. The next request, sent without a pause, starts at the first byte.
   */
  async #startOver({ body }: Response): Promise<Setback> {
    body?.cancel().catch(() => {});
    await this.#beginWith(NO_VERSION);
    return { why: "the API sent another part or version of the file", pauseMs: 0 };
  }

  async #beginWith(version: Version): Promise<void> {
    await onDisk(this.file, () => this.target.begin(version));
    this.resumedFrom = 0;
  }

  /** Writes a body to the target. */
  async #read(response: Response): Promise<Setback | undefined> {
    const { call, file, target } = this;
    const type = response.headers.get("content-type");
    this.contentType = type === null ? undefined : call.secrets.quote(type);
    const { size: start, version: { total } } = target;
    const broken = await eachPiece(
      response.body,
      (total ?? Infinity) - start,
      (piece) => call.more(piece),
      async (piece) => {
        await onDisk(file, () => target.write(piece));
        this.#report();
      },
    );
    if (broken) call.signal?.throwIfAborted();
    const { size } = target;
    if (total === undefined && !broken) return undefined;
    // If the connection breaks after the last byte, the file is complete.
    if (size === total) return undefined;
    if (total !== undefined && size > total) {
      target.discard();
      throw this.#damaged("the API sent more bytes than it announced");
    }
    return setbackAfter(broken?.cause, "the response broke off");
  }

  #report(): void {
    const { size, version: { total } } = this.target;
    this.onPiece({ bytes: size, ...(total !== undefined && { total }) });
  }

  /**
   * Returns the setback if a request without a response can be repeated.
   *
   * @throws The error of the request if it must not be repeated.
   */
  #unanswered(error: unknown): Setback {
    const isStall = error instanceof Stalled;
    if (!isStall && !(error instanceof UnreachableError)) throw error;
    const setback = setbackAfter(error, "no connection");
    const { call, group: { hosts, end } } = this;
    const attempts = this.#fruitless + 1;
    const { origin: host } = new URL(call.sentTo);
    // The API itself did respond, with a redirect to the host that did not.
    if (host !== this.#origin) hosts.noteResponse(this.#origin);
    if (call.request.isSafe && attempts < hosts.triesOf(host)) return setback;
    const failure = isStall ? this.#brokenOff(setback, attempts) : error;
    if (hosts.noteFailure(host)) end.abort(failure);
    throw failure;
  }

  /**
   * Returns the setback if a request that the API refused can be repeated.
   *
   * @throws {ApiError} `API_STATUS` if the request must not be repeated.
   */
  async #refused(response: Response): Promise<Setback> {
    const { call, group } = this;
    const { status } = response;
    const attempts = this.#fruitless + 1;
    const waitMs = retryAfterMs(response.headers, call.api.timing.now());
    const isBrief = (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    const isPassing = WORTH_A_RETRY.includes(status) && isBrief;
    const hadToken = detourOf(response) === undefined;
    // The refusal may mean that the presigned address has expired. The API redirects the next
    // request to a new one.
    const hasExpired = !hadToken && status < 500 && attempts === 1;
    if (!call.request.isSafe || attempts >= MAX_FRUITLESS || !(isPassing || hasExpired)) {
      const error = await call.refusal(response, attempts);
      const concernsAll = status === 401 && hadToken || status === 429 && !isBrief;
      if (concernsAll) group.end.abort(error);
      throw error;
    }
    await response.body?.cancel();
    return {
      why: `the API responded with ${status}`,
      pauseMs: isPassing ? waitMs : 0,
      isBusy: isPassing && (status === 429 || waitMs !== undefined),
    };
  }

  #brokenOff({ why, cause }: Setback, times: number): ApiError {
    const { call: { errors, request }, target: { size, version: { total } } } = this;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    const often = times > 1 ? `, ${times} times in a row` : "";
    const amount = bytesText(size) + whole;
    const what = `Cannot download ${request.url} (${why}${often} after ${amount})`;
    const fix = "run it again to resume it, if the API allows that";
    return cause instanceof Stalled
      ? errors.make("API_TIMEOUT", what, [fix, WAIT_LONGER])
      : errors.make("DOWNLOAD_BROKEN", what, fix, { cause });
  }

  /**
   * Checks the complete file, and gives it its name.
   *
   * @returns The size of an existing file that is kept instead.
   * @throws {ApiError} `DOWNLOAD_BROKEN` if the file differs from the checksum that the API sent.
   */
  async finish(): Promise<number | undefined> {
    const { file, target } = this;
    const { digest } = target.version;
    if (digest && !(target instanceof Outlet) && !await target.matches(digest)) {
      target.discard();
      const algorithm = digest.algorithm.toUpperCase();
      throw this.#damaged(
        `its ${algorithm} checksum differs from the one that the API sent, so the file was removed`,
      );
    }
    return await onDisk(file, () => target.finish());
  }

  #damaged(why: string): ApiError {
    const what = `Cannot download ${this.call.request.url} (${why})`;
    return this.call.errors.make("DOWNLOAD_BROKEN", what, "run it again");
  }
}

/** @param usual The reason, unless the cause is a stall. */
function setbackAfter(cause: unknown, usual: string): Setback {
  return { why: cause instanceof Stalled ? cause.message : usual, cause };
}
