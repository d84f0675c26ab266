/** The transfer of one file: which request comes next, and what its response means. */
import { type Body, contentsOf } from "./contents.ts";
import type { DownloadGroup } from "./download_group.ts";
import type { Part } from "./part.ts";
import { eachPiece } from "./pieces.ts";
import { decodedBody, notReady, notTheFile, refusePage } from "./savable.ts";
import { NO_VERSION, type Version } from "./version.ts";
import type { CheckedCall } from "../checked_call.ts";
import { detourOf } from "../redirects.ts";
import { onDisk } from "../save_errors.ts";
import { backoffMs, retryAfterMs } from "../../platform/backoff.ts";
import { Stalled, WAIT_LONGER } from "../idle.ts";
import { pause } from "../../platform/pauses.ts";
import { bytesText } from "../../errors/amounts.ts";
import { type ApiError, UnreachableError } from "../../errors/errors.ts";

/** Maximum number of consecutive requests without new data. */
const MAX_FRUITLESS = 6;
/**
 * Maximum number of requests as long as the API has never responded. The limit is lower, because
 * the address of the API may be wrong.
 */
const MAX_UNANSWERED = 3;
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
 * Sends requests until a file is complete. An interrupted transfer is resumed as long as further
 * requests bring new data. Each request goes to the original address with a current token,
 * so that the API can redirect it to a presigned address that is still valid.
 */
export class Transfer {
  /** Number of bytes of an earlier call; 0 once the download has started over. */
  resumedFrom: number;
  /** Media type according to the API. */
  contentType: string | undefined;
  /** The largest number of bytes so far. */
  #furthest: number;
  /** Number of consecutive requests without new data. */
  #fruitless = 0;

  /**
   * @param file The path of the file, for messages.
   * @param onPiece Called at the start and for each piece.
   */
  constructor(
    private readonly call: CheckedCall,
    private readonly file: string,
    private readonly part: Part,
    private readonly group: DownloadGroup,
    private readonly onPiece: (progress: DownloadProgress) => void,
  ) {
    this.resumedFrom = this.#furthest = part.size;
  }

  async run(): Promise<void> {
    const { call: { account: { world }, request, signal }, group, part } = this;
    this.#report();
    while (true) {
      await group.turn(signal);
      signal?.throwIfAborted();
      const setback = await this.#attempt();
      if (setback === undefined) return;
      this.#fruitless = part.size > this.#furthest ? 0 : this.#fruitless + 1;
      this.#furthest = Math.max(this.#furthest, part.size);
      const canResume = part.size === 0 || part.version.tag !== undefined;
      if (!request.isSafe || !canResume || this.#fruitless >= MAX_FRUITLESS) {
        throw this.#brokenOff(setback, this.#fruitless);
      }
      const usual = this.#fruitless === 0
        ? 0
        : backoffMs(this.#fruitless, FIRST_PAUSE_MS, world.random);
      const { why, pauseMs = usual, isBusy } = setback;
      if (isBusy) group.pauseAll(pauseMs, why);
      else await pause(world, pauseMs, why, signal);
    }
  }

  /**
   * Sends one request. If the response contains the file or its rest, writes the body.
   *
   * @returns `undefined` if the file is complete.
   */
  async #attempt(): Promise<Setback | undefined> {
    const { call, group, part } = this;
    let response: Response;
    try {
      response = await call.send(this.#headers(), this.#fruitless + 1);
    } catch (error) {
      call.signal?.throwIfAborted();
      return this.#unanswered(error);
    }
    group.hasResponse = true;
    const contents = contentsOf(response, part.size, part.version);
    switch (contents.kind) {
      case "whole":
        await refusePage(call, response, this.file);
        return await this.#write(response, contents);
      case "rest":
        return await this.#write(response, contents);
      case "unusable":
        return await this.#startOver(response);
      case "other":
        throw await notTheFile(call, response);
      case "pending":
      case "refused":
        return await this.#refused(response);
    }
  }

  /** Asks for no encoding, because an encoded body has another length and other ranges. */
  #headers(): Headers {
    const { call: { request }, part: { size, version } } = this;
    const headers = new Headers(request.headers);
    headers.set("accept-encoding", "identity");
    if (size > 0) {
      headers.set("range", `bytes=${size}-`);
      headers.set("if-range", version.tag ?? "");
    }
    return headers;
  }

  /**
   * Starts over after a response that can be neither the file nor its rest.
   *
   * @throws {ApiError} `DOWNLOAD_BROKEN` if this request already asked for the whole file.
   */
  async #startOver(response: Response): Promise<Setback> {
    await response.body?.cancel();
    if (this.part.size > 0) {
      await this.#beginWith(NO_VERSION);
      return { why: "the API sent another part or version of the file", pauseMs: 0 };
    }
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

  async #beginWith(version: Version): Promise<void> {
    await onDisk(this.file, () => this.part.begin(version));
    this.resumedFrom = 0;
  }

  /** Writes a body to the part. */
  async #write(response: Response, { kind, version }: Body): Promise<Setback | undefined> {
    const { call, file, part } = this;
    const body = await decodedBody(call, response);
    if (kind === "whole") await this.#beginWith(version);
    else part.version = version;
    const type = response.headers.get("content-type");
    this.contentType = type === null ? undefined : call.secrets.quote(type);
    const { total } = version;
    const broken = await eachPiece(
      body,
      (total ?? Infinity) - part.size,
      (piece) => call.more(piece),
      async (piece) => {
        await onDisk(file, () => part.write(piece));
        this.#report();
      },
    );
    if (broken) call.signal?.throwIfAborted();
    if (total === undefined && !broken) return undefined;
    if (total !== undefined && part.size > total) {
      part.discard();
      throw this.#damaged("the API sent more bytes than it announced");
    }
    // If the connection breaks after the last byte, the file is complete.
    if (part.size === total) return undefined;
    return setbackAfter(broken?.cause, "the response broke off");
  }

  #report(): void {
    const { size, version: { total } } = this.part;
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
    const { call, group } = this;
    // The API did respond: with a redirect to the host that did not respond.
    if (call.sentTo !== call.request.address) group.hasResponse = true;
    const setback = setbackAfter(error, "no connection");
    const attempts = this.#fruitless + 1;
    const limit = group.hasResponse ? MAX_FRUITLESS : MAX_UNANSWERED;
    if (call.request.isSafe && attempts < limit) return setback;
    const failure = isStall ? this.#brokenOff(setback, attempts) : error;
    if (!group.hasResponse) group.end.abort(failure);
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
    const waitMs = retryAfterMs(response.headers, call.account.world.now());
    const isBrief = (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    const isPending = status === 202;
    const isPassing = WORTH_A_RETRY.includes(status) && isBrief;
    if (!call.request.isSafe || attempts >= MAX_FRUITLESS || !isPassing) {
      const error = isPending
        ? await notReady(call, response, attempts)
        : await call.refusal(response, attempts);
      const concernsAll = status === 401 && !detourOf(response) || status === 429 && !isBrief;
      if (concernsAll) group.end.abort(error);
      throw error;
    }
    await response.body?.cancel();
    return {
      why: isPending ? "the API is still preparing the file" : `the API responded with ${status}`,
      pauseMs: waitMs || undefined,
      isBusy: !isPending && (status === 429 || waitMs !== undefined),
    };
  }

  #brokenOff({ why, cause }: Setback, times: number): ApiError {
    const { call: { errors, request }, part: { size, version: { total } } } = this;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    const often = times > 1 ? `, ${times} times in a row` : "";
    const amount = bytesText(size) + whole;
    const what = `Cannot download ${request.url} (${why}${often} after ${amount})`;
    const fix = this.part.isKept ? "run it again to resume it" : "run it again";
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
    const { file, part } = this;
    const { digest } = part.version;
    if (digest !== undefined && !await part.matches(digest)) {
      part.discard();
      throw this.#damaged(
        "its SHA-256 checksum differs from the one that the API sent, so the file was removed",
      );
    }
    return await onDisk(file, () => part.finish());
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
