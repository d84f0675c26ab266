import type { CheckedCall } from "../checked_call.ts";
import type { DownloadGroup } from "./download_group.ts";
import { Outlet } from "./outlet.ts";
import type { Target } from "./part.ts";
import { isElsewhere } from "../redirects.ts";
import { onDisk } from "../save_errors.ts";
import { encodingOf, isRest, NO_VERSION, totalIn, type Version, versionOf } from "./version.ts";
import { backoffMs, retryAfterMs } from "../../platform/backoff.ts";
import { Stalled, WAIT_LONGER } from "../../platform/idle.ts";
import { type Attempt, retry } from "../../platform/retry.ts";
import { bytesText } from "../../errors/amounts.ts";
import { type ApiError, UnreachableError } from "../../errors/errors.ts";

/** Maximum number of consecutive requests without new data. */
const MAX_FRUITLESS = 6;
/**
 * Maximum number of requests to a host that has never responded. This limit is lower than
 * `MAX_FRUITLESS`, because the address of the host may be wrong.
 */
const MAX_UNANSWERED = 3;
const FIRST_PAUSE_MS = 500;
/** Longest pause before a retry. A download fails if `Retry-After` asks for a longer one. */
const LONGEST_PAUSE_MS = 300_000;
/** Statuses worth a retry: the API, or a proxy in front of it, is busy or briefly unavailable. */
const WORTH_A_RETRY = [429, 502, 503, 504];
const PIECE_BYTES = 262_144;
const BROKE_OFF = "the response broke off";

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
 *
 * @param onPiece Called for each piece.
 */
export async function transfer(
  call: CheckedCall,
  file: string,
  target: Target,
  onPiece: (progress: DownloadProgress) => void,
  group: DownloadGroup,
): Promise<{ resumedFrom: number; contentType: string | undefined }> {
  const { account: { world }, isSafe, signal } = call;
  const { origin } = new URL(call.url);
  let resumedFrom = target.size;
  let contentType: string | undefined;
  /**
   * Whether to request a response without an encoding. With an encoding, the length and the ranges
   * in the headers are not those of the file.
   */
  let wantsPlain = isSafe;
  let furthest = target.size;
  let fruitless = 0;
  report();
  await retry(world, signal, async (): Promise<Attempt<void>> => {
    await group.turn(signal);
    const setback = await attempt(fruitless + 1);
    if (setback === undefined) return { done: undefined };
    const { size, version } = target;
    fruitless = size > furthest ? 0 : fruitless + 1;
    if (fruitless === 0) group.pauses.endStretch();
    furthest = Math.max(furthest, size);
    const canContinue = isSafe && (size === 0 || version.validator !== undefined);
    if (!canContinue || fruitless >= MAX_FRUITLESS) throw brokenOff(setback, fruitless);
    const usual = fruitless === 0 ? 0 : backoffMs(fruitless, FIRST_PAUSE_MS, world.random);
    const { why, pauseMs = usual, isBusy } = setback;
    if (!isBusy) return { pauseMs, why };
    group.hold(pauseMs, why);
    return { pauseMs: 0, why };
  }, group.pauses);
  return { resumedFrom, contentType };

  /**
   * Sends one request.
   *
   * @returns `undefined` if the file is complete.
   */
  async function attempt(attempts: number): Promise<Setback | undefined> {
    const { size, version } = target;
    let response: Response;
    try {
      response = await call.send(headersFor(size, version));
    } catch (error) {
      signal?.throwIfAborted();
      return unreachable(error, attempts);
    }
    group.tries.set(origin, MAX_FRUITLESS);
    const { status } = response;
    if (size > 0 && (status === 206 || status === 416)) {
      if (!isRest(response, size, version)) return await startOver(response);
      if (status === 416) {
        await response.body?.cancel();
        return undefined;
      }
      target.version = { ...version, total: version.total ?? totalIn(response.headers) };
      return await read(response);
    }
    if (response.ok && status !== 206) return await begin(response);
    return await refused(response, attempts);
  }

  function headersFor(size: number, { validator }: Version): Headers {
    const headers = new Headers(call.headers);
    headers.delete("accept-encoding");
    if (wantsPlain) headers.set("accept-encoding", "identity");
    if (size > 0) {
      headers.set("range", `bytes=${size}-`);
      headers.set("if-range", validator ?? "");
    }
    return headers;
  }

  /**
   * Returns the setback if a request without a response can be repeated.
   *
   * @throws The error of the request if it must not be repeated.
   */
  function unreachable(error: unknown, attempts: number): Setback {
    const isStall = error instanceof Stalled;
    if (!isStall && !(error instanceof UnreachableError)) throw error;
    const setback = { why: isStall ? error.message : "no connection", cause: error };
    const { tries, end } = group;
    const { origin: host } = new URL(call.sentTo);
    // The API itself did respond, with a redirect to the host that did not.
    if (host !== origin) tries.set(origin, MAX_FRUITLESS);
    if (isSafe && attempts < (tries.get(host) ?? MAX_UNANSWERED)) return setback;
    const failure = isStall ? brokenOff(setback, attempts) : error;
    if (tries.size === 0) end.abort(failure);
    // Other downloads from this host now fail after a single request instead of `MAX_UNANSWERED`.
    if (!tries.has(host)) tries.set(host, 1);
    throw failure;
  }

  /** Reads a response that contains the file from its first byte. */
  async function begin(response: Response): Promise<Setback | undefined> {
    await call.refuseUnusable(response, file);
    const encoding = encodingOf(response);
    if (encoding !== "" && wantsPlain) {
      // The next request leaves accept-encoding to the runtime, so that the runtime decodes the
      // response.
      wantsPlain = false;
      return await startOver(response);
    }
    if (!/^(gzip|br)?$/.test(encoding)) {
      await response.body?.cancel();
      const what = call.quote(encoding, response, 80);
      throw call.bodyError(response, {
        problem: `it is encoded with ${what}, and was not saved`,
        fix: "ask the support channel of your subscription for files without this encoding",
      });
    }
    await beginWith(encoding === "" ? versionOf(response.headers) : NO_VERSION);
    return await read(response);
  }

  /**
   * Discards the bytes so far. The next request, sent without a pause, starts at the first byte.
   */
  async function startOver({ body }: Response): Promise<Setback> {
    body?.cancel().catch(() => {});
    await beginWith(NO_VERSION);
    return { why: "the API sent another part or version of the file", pauseMs: 0 };
  }

  async function beginWith(version: Version): Promise<void> {
    await onDisk(file, () => target.begin(version));
    resumedFrom = 0;
  }

  /**
   * Returns the setback if a request that the API refused can be repeated.
   *
   * @throws {ApiError} `API_STATUS` if the request must not be repeated.
   */
  async function refused(response: Response, attempts: number): Promise<Setback> {
    const { status } = response;
    const waitMs = retryAfterMs(response.headers, world.now());
    const isBrief = (waitMs ?? 0) <= LONGEST_PAUSE_MS;
    const isPassing = WORTH_A_RETRY.includes(status) && isBrief;
    const isFromStore = isElsewhere(response, call.url);
    // The refusal may mean that the presigned address has expired. The API redirects the next
    // request to a new one.
    const hasExpired = isFromStore && status < 500 && attempts === 1;
    if (!isSafe || attempts >= MAX_FRUITLESS || !(isPassing || hasExpired)) {
      const error = await call.statusError(response, attempts);
      const concernsAll = status === 401 && !isFromStore || status === 429 && !isBrief;
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

  /** Writes a body to the target. */
  async function read(response: Response): Promise<Setback | undefined> {
    const type = response.headers.get("content-type");
    contentType = type === null ? undefined : call.quote(type, response);
    const breakage = response.body === null ? undefined : await copy(response.body);
    const { size, version: { total } } = target;
    if (total === undefined) return breakage;
    // If the connection breaks after the last byte, the file is complete.
    if (size === total) return undefined;
    if (size < total) return breakage ?? { why: BROKE_OFF };
    target.discard();
    throw broken(call, "the API sent more bytes than it announced");
  }

  /**
   * Copies a body to the target piece by piece. Reuses one buffer for all pieces if the body is a
   * byte stream.
   *
   * @returns The setback, if the body broke off.
   */
  async function copy(body: ReadableStream<Bytes>): Promise<Setback | undefined> {
    const { size, version: { total = Infinity } } = target;
    // The rest of a small file fits into a smaller buffer.
    let buffer = new ArrayBuffer(Math.max(1, Math.min(total - size, PIECE_BYTES)));
    const reader = readerOf(body);
    try {
      while (true) {
        let piece: ReadableStreamReadResult<Bytes>;
        try {
          piece = await call.more(reader.read(new Uint8Array(buffer)));
        } catch (cause) {
          signal?.throwIfAborted();
          return { why: cause instanceof Stalled ? cause.message : BROKE_OFF, cause };
        }
        const { done, value } = piece;
        if (done) return undefined;
        await onDisk(file, () => target.write(value));
        report();
        buffer = value.buffer;
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  function report(): void {
    const { size, version: { total } } = target;
    onPiece({ bytes: size, ...(total !== undefined && { total }) });
  }

  function brokenOff({ why, cause }: Setback, times: number): ApiError {
    const { size, version: { total } } = target;
    const whole = total === undefined ? "" : ` of ${bytesText(total)}`;
    const often = times > 1 ? `, ${times} times in a row` : "";
    const amount = bytesText(size) + whole;
    const what = `Cannot download ${call.url} (${why}${often} after ${amount})`;
    const fix = "run it again to resume it, if the API allows that";
    return cause instanceof Stalled
      ? call.error("API_TIMEOUT", what, [fix, WAIT_LONGER])
      : call.error("DOWNLOAD_BROKEN", what, fix, { cause });
  }
}

/** @throws {ApiError} `DOWNLOAD_BROKEN` if the file differs from the checksum that the API sent. */
export async function checkDigest(call: CheckedCall, target: Target): Promise<void> {
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
    // A `fetch` that was passed as an option may return a body that is not a byte stream.
    return body.getReader();
  }
}
