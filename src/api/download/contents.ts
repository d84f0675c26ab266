/** Decides what the body of a response is to a download: the file, its rest, or neither. */
import {
  encodingOf,
  lengthIn,
  NO_VERSION,
  representationDigest,
  type Version,
  versionOf,
} from "./version.ts";

/** A body that is written. */
export interface Body {
  /**
   * - `whole`: the file from its first byte to its last.
   * - `rest`: bytes that follow those on disk.
   */
  readonly kind: "whole" | "rest";
  /** The version of the file, with what this response says about it. */
  readonly version: Version;
  /** Length of the file on disk after this body; `undefined` if the response does not say. */
  readonly end: number | undefined;
}

/** What a response means for a download. Only a {@linkcode Body} is ever written. */
export type Contents = Body | {
  /**
   * - `nothing`: the bytes on disk are the whole file.
   * - `unusable`: the headers contradict each other, the request, or what is known of the file.
   * - `pending`: the API is still preparing the file.
   * - `other`: a success, but not the file.
   * - `refused`: not a success.
   */
  readonly kind: "nothing" | "unusable" | "pending" | "other" | "refused";
};

/**
 * Reads the status and the headers of a response.
 *
 * @param size Number of bytes on disk. If it is not 0, the request asked for the rest.
 * @param known The version of these bytes.
 */
export function contentsOf(response: Response, size: number, known: Version): Contents {
  switch (response.status) {
    case 200:
    case 203:
      return whole(response);
    case 202:
      return { kind: "pending" };
    case 206:
      return size === 0 ? whole(response) : rest(response, size, known);
    case 416:
      if (size > 0) return nothing(response, size, known);
  }
  return { kind: response.ok ? "other" : "refused" };
}

const UNUSABLE = { kind: "unusable" } as const;

/**
 * A 200 needs no range. A 206 needs one, even if nobody asked for it: some proxies send each file
 * as a range from its first byte to its last.
 */
function whole(response: Response): Contents {
  const { status, headers } = response;
  const length = lengthIn(headers);
  const range = rangeIn(headers);
  if (range !== undefined || status === 206) {
    const { start, end, total } = range ?? {};
    if (start !== 0 || end === undefined || end !== total || end !== (length ?? end)) {
      return UNUSABLE;
    }
  }
  const total = length ?? range?.total;
  // The length and the digest of an encoded response are not those of the file.
  const version = encodingOf(response) === "" ? { ...versionOf(headers), total } : NO_VERSION;
  return { kind: "whole", version, end: version.total };
}

/** Some servers and proxies ignore `If-Range`, so the version in the headers is compared. */
function rest(response: Response, size: number, known: Version): Contents {
  const { headers } = response;
  const { start, end, total = known.total } = rangeIn(headers) ?? {};
  if (start !== size || end === undefined || total === undefined) return UNUSABLE;
  const agrees = end > start && end <= total &&
    end - start === (lengthIn(headers) ?? end - start) &&
    total === (known.total ?? total) && encodingOf(response) === "" && isSame(headers, known);
  if (!agrees) return UNUSABLE;
  const digest = representationDigest(headers) ?? known.digest;
  return { kind: "rest", version: { ...known, total, digest }, end };
}

function nothing({ headers }: Response, size: number, known: Version): Contents {
  const { start, total } = rangeIn(headers) ?? {};
  const agrees = start === undefined && total === size && size === (known.total ?? size) &&
    isSame(headers, known);
  return agrees ? { kind: "nothing" } : UNUSABLE;
}

function isSame(headers: Headers, known: Version): boolean {
  const { validator, etag } = versionOf(headers);
  return validator === known.validator && etag === known.etag;
}

/** A range of bytes. A part that is missing was not sent or cannot be read. */
interface Range {
  readonly start?: number | undefined;
  /** The first byte after the range. */
  readonly end?: number | undefined;
  /** Length of the whole file. */
  readonly total?: number | undefined;
}

/**
 * Reads `Content-Range` (RFC 9110, 14.4). Other units, such as the rows of a page, say nothing about
 * the bytes.
 *
 * @returns `undefined` if the response has no range of bytes.
 */
function rangeIn(headers: Headers): Range | undefined {
  const text = headers.get("content-range") ?? "";
  if (!/^bytes\b/i.test(text)) return undefined;
  const [, first, last, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/i.exec(text) ?? [];
  const numberIn = (digits: string | undefined) =>
    digits === undefined || digits === "*" ? undefined : Number(digits);
  const end = numberIn(last);
  return {
    start: numberIn(first),
    end: end === undefined ? undefined : end + 1,
    total: numberIn(total),
  };
}
