/** Decides what the body of a response contains: the file, its rest, or neither. */
import { encodingOf, lengthIn, NO_VERSION, type Version, versionOf } from "./version.ts";

/** A body that a download writes to disk. */
export interface Body {
  /**
   * - `whole`: the file from its first byte to its last.
   * - `rest`: the bytes that follow those on disk, up to the last.
   */
  readonly kind: "whole" | "rest";
  /** The version of the file, including new facts from this response. */
  readonly version: Version;
}

/** What a response means for a download. Only a {@linkcode Body} is ever written. */
export type Contents = Body | {
  /**
   * - `unusable`: the headers contradict each other, the request, or what is known of the file.
   * - `pending`: the API is still preparing the file.
   * - `other`: a 2xx response, but not the file.
   * - `refused`: not a 2xx response.
   */
  readonly kind: "unusable" | "pending" | "other" | "refused";
};

/**
 * Reads the status and the headers of a response. Some servers and proxies ignore `If-Range`, or
 * send each file as a range, so all facts in the response must agree.
 *
 * @param size Number of bytes on disk. If it is not 0, the request asked for the rest.
 * @param known The version of these bytes.
 */
export function contentsOf(response: Response, size: number, known: Version): Contents {
  const { status, headers, ok } = response;
  if (status === 202) return { kind: "pending" };
  // The file is now shorter than the bytes on disk.
  if (status === 416 && size > 0) return { kind: "unusable" };
  if (![200, 203, 206].includes(status)) return { kind: ok ? "other" : "refused" };

  const isPlain = encodingOf(response) === "";
  const version = isPlain ? versionOf(headers) : NO_VERSION;
  const range = headers.get("content-range") ?? "";
  // A `Content-Range` that counts rows, for example, says nothing about the bytes.
  if (status !== 206 && !/^bytes\b/i.test(range)) return { kind: "whole", version };

  // If a part of the range is missing, its number is NaN, and all comparisons fail.
  const [, first, last, of] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(range) ?? [];
  const [start, end, total] = [Number(first), Number(last) + 1, Number(of)];
  const length = lengthIn(headers) ?? total - start;
  if (end !== total || length !== total - start || !isPlain) return { kind: "unusable" };
  if (start === 0) return { kind: "whole", version: { ...version, total } };
  const isRest = status === 206 && start === size && version.tag === known.tag &&
    total === (known.total ?? total);
  if (!isRest) return { kind: "unusable" };
  return { kind: "rest", version: { ...known, total, digest: version.digest ?? known.digest } };
}
