/** The transfer of one file: which request comes next, and what its response means. */
import { type Body, contentsOf } from "./contents.ts";
import type { DownloadGroup } from "./download_group.ts";
import { MAX_FRUITLESS } from "./hosts.ts";
import { Outlet } from "./outlet.ts";
import type { Target } from "./part.ts";
import { eachPiece } from "./pieces.ts";
import { notReady, notTheFile, refuseEncoding, refusePage } from "./savable.ts";
import { encodingOf, NO_VERSION, type Version } from "./version.ts";
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
/**
 * Statuses worth a retry: the API is still preparing the file, or the API or a proxy in front of it
 * is busy or briefly unavailable.
 */
const WORTH_A_RETRY = [202, 429, 502, 503, 504];

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
   * Sends one request, and writes the body of its response if it is the file or its rest.
   *
   * @returns `undefined` if the file is complete.
   */
  async #attempt(): Promise<Setback | undefined> {
    const { call, group, target: { size, version } } = this;
    let response: Response;
    try {
      response = await call.send(this.#headers(), this.#fruitless + 1);
    } catch (error) {
      call.signal?.throwIfAborted();
      return this.#unanswered(error);
    }
    group.hosts.noteResponse(this.#origin);
    const contents = contentsOf(response, size, version);
    switch (contents.kind) {
      case "whole":
        return await this.#begin(response, contents);
      case "rest":
        this.target.version = contents.version;
        return await this.#read(response, contents);
      case "nothing":
        await response.body?.cancel();
        return undefined;
      case "unusable":
        return await this.#distrust(response);
      case "other":
        throw await notTheFile(call, response);
      case "pending":
      case "refused":
        return await this.#refused(response);
    }
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

  /** Reads a response that contains the file from its first byte. */
  async #begin(response: Response, body: Body): Promise<Setback | undefined> {
    await refusePage(this.call, response, this.file);
    const encoding = encodingOf(response);
    if (encoding !== "" && this.#wantsPlain) {
      // The next request leaves accept-encoding to the runtime, so that the runtime decodes the
      // response.
      this.#wantsPlain = false;
      return await this.#startOver(response);
    }
    await refuseEncoding(this.call, response, encoding);
    await this.#beginWith(body.version);
    return await this.#read(response, body);
  }

  /**
   * Starts over after a response that can be neither the file nor its rest.
   *
   * @throws {ApiError} `DOWNLOAD_BROKEN` if this request already asked for the whole file.
   */
  async #distrust(response: Response): Promise<Setback> {
    if (this.target.size > 0) return await this.#startOver(response);
    await response.body?.cancel();
    const facts = ["content-range", "content-length"].flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [`${name} ${this.call.secrets.quote(value, 80)}`];
    });
    const sent = [`status ${response.status}`, ...facts].join(", ");
    throw this.#damaged(
      `the API sent only a part, or its headers contradict each other: ${sent}`,
      "check the path and any proxy, or ask the support channel of your subscription",
    );
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
  async #read(response: Response, { end, version }: Body): Promise<Setback | undefined> {
    const { call, file, target } = this;
    const type = response.headers.get("content-type");
    this.contentType = type === null ? undefined : call.secrets.quote(type);
    const { size: start } = target;
    const broken = await eachPiece(
      response.body,
      (end ?? Infinity) - start,
      (piece) => call.more(piece),
      async (piece) => {
        await onDisk(file, () => target.write(piece));
        this.#report();
      },
    );
    if (broken) call.signal?.throwIfAborted();
    const { size } = target;
    if (end === undefined && !broken) return undefined;
    if (end !== undefined && size > end) {
      target.discard();
      throw this.#damaged("the API sent more bytes than it announced");
    }
    // If the connection breaks after the last byte, the file is complete.
    if (size === version.total) return undefined;
    const why = size === end ? "the API sent only a part" : "the response broke off";
    return setbackAfter(broken?.cause, why);
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
   * Returns the setback if a request that brought no file can be repeated.
   *
   * @throws {ApiError} `API_STATUS`, or `API_BODY` for a 202, if it must not be repeated.
   */
  async #refused(response: Response): Promise<Setback> {
    const { call, group } = this;
    const { status } = response;
    const attempts = this.#fruitless + 1;
    const waitMs = retryAfterMs(response.headers, call.api.timing.now());
    const isBrief = (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    const isPending = status === 202;
    const isPassing = WORTH_A_RETRY.includes(status) && isBrief;
    const hadToken = detourOf(response) === undefined;
    // The refusal may mean that the presigned address has expired. The API redirects the next
    // request to a new one.
    const hasExpired = !hadToken && !isPending && status < 500 && attempts === 1;
    if (!call.request.isSafe || attempts >= MAX_FRUITLESS || !(isPassing || hasExpired)) {
      const error = isPending
        ? await notReady(call, response, attempts)
        : await call.refusal(response, attempts);
      const concernsAll = status === 401 && hadToken || status === 429 && !isBrief;
      if (concernsAll) group.end.abort(error);
      throw error;
    }
    await response.body?.cancel();
    return {
      why: isPending ? "the API is still preparing the file" : `the API responded with ${status}`,
      pauseMs: isPassing ? waitMs || undefined : 0,
      isBusy: isPassing && !isPending && (status === 429 || waitMs !== undefined),
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

  #damaged(why: string, fix = "run it again"): ApiError {
    const what = `Cannot download ${this.call.request.url} (${why})`;
    return this.call.errors.make("DOWNLOAD_BROKEN", what, fix);
  }
}

/** @param usual The reason, unless the cause is a stall. */
function setbackAfter(cause: unknown, usual: string): Setback {
  return { why: cause instanceof Stalled ? cause.message : usual, cause };
}
