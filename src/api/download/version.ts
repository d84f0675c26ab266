/** Reads the version, the length and the digest of a file from the headers of a response. */

/** A digest of the whole file. */
export interface Digest {
  /** The name of the algorithm in `node:crypto`. */
  readonly algorithm: "sha256" | "md5";
  /** The digest in base64. */
  readonly value: string;
}

/** The facts about a file that a download needs to resume and to check the complete file. */
export interface Version {
  /**
   * The value to send as `If-Range`: a strong `ETag` or a `Last-Modified`. `undefined` if the
   * download cannot be resumed.
   */
  readonly validator?: string | undefined;
  /** The `ETag`, which may be weak. */
  readonly etag?: string | undefined;
  /** Length in bytes. */
  readonly total?: number | undefined;
  readonly digest?: Digest | undefined;
}

/**
 * The version of an unknown file. Also used for an encoded response, because its length, ranges and
 * digest are not those of the file.
 */
export const NO_VERSION: Version = {};

/** Reads the headers of a response that contains the file from its first byte. */
export function versionOf(headers: Headers): Version {
  const length = headers.get("content-length") ?? "";
  return {
    validator: headers.get("accept-ranges") === "none" ? undefined : validatorOf(headers),
    etag: headers.get("etag") ?? undefined,
    total: /^\d+$/.test(length) ? Number(length) : undefined,
    digest: digestOf(headers),
  };
}

/**
 * Returns the validator for `If-Range` (RFC 9110, 13.1.5). A weak tag cannot be used. A date less
 * than a second before the response cannot be used either, because the file could change again
 * within that second.
 */
function validatorOf(headers: Headers): string | undefined {
  const tag = headers.get("etag");
  if (tag?.startsWith('"')) return tag;
  const modified = headers.get("last-modified") ?? "";
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(modified);
  return age >= 1_000 ? modified : undefined;
}

/** Reads `Repr-Digest` (RFC 9530) or `Content-MD5`. */
function digestOf(headers: Headers): Digest | undefined {
  const sha256 = /(?:^|,)\s*sha-256=:([\w+/]+=*):/i.exec(headers.get("repr-digest") ?? "")?.[1];
  if (sha256 !== undefined) return { algorithm: "sha256", value: sha256 };
  const md5 = headers.get("content-md5")?.trim();
  return md5 ? { algorithm: "md5", value: md5 } : undefined;
}

/** The `Content-Encoding` of a response; empty if it is not encoded. */
export function encodingOf({ headers }: Response): string {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  return encoding === "identity" ? "" : encoding;
}

/** The range that a response contains (RFC 9110, 14.4). */
function rangeOf(headers: Headers): { start: number | undefined; total: number | undefined } {
  const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
  const numberIn = (text = "") => /^\d+$/.test(text) ? Number(text) : undefined;
  return { start: numberIn(range?.[1]), total: numberIn(range?.[2]) };
}

/**
 * The length of the whole file. A response without `Content-Length` may state it in
 * `Content-Range`.
 */
export function totalIn(headers: Headers): number | undefined {
  return rangeOf(headers).total;
}

/**
 * Whether a 206 contains the rest of the file from byte `size` to the end, or a 416 says that the
 * file is exactly `size` bytes long. Some servers and proxies ignore `If-Range`, so the version in
 * the headers is compared too.
 */
export function isRest(response: Response, size: number, version: Version): boolean {
  const { start, total } = rangeOf(response.headers);
  const { validator, etag } = versionOf(response.headers);
  return (start ?? total) === size && encodingOf(response) === "" &&
    validator === version.validator && etag === version.etag &&
    (total ?? version.total) === (version.total ?? total);
}
