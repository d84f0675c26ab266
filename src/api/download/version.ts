/** Reads the version, the length and the digest of a file from the headers of a response. */

/** The facts about a file that a download needs to resume and to check the complete file. */
export interface Version {
  /** The strong `ETag`, sent as `If-Range`. Without one, the download cannot be resumed. */
  readonly tag?: string | undefined;
  /** Length in bytes. */
  readonly total?: number | undefined;
  /** SHA-256 of the whole file, in base64. */
  readonly digest?: string | undefined;
}

/**
 * The version of an unknown file. Also used for an encoded response, because its tag, length and
 * digest are not those of the file.
 */
export const NO_VERSION: Version = {};

/** Reads the headers of a response that contains the whole file. */
export function versionOf(headers: Headers): Version {
  const tag = headers.get("etag") ?? "";
  return {
    tag: isStrongTag(tag) ? tag : undefined,
    total: lengthIn(headers),
    digest: digestIn(headers),
  };
}

/** Whether a text is a tag that can be sent as `If-Range` (RFC 9110, 8.8.3 and 13.1.5). */
export function isStrongTag(text: string): boolean {
  return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(text);
}

/** The `Content-Length` of a response. */
export function lengthIn(headers: Headers): number | undefined {
  const length = headers.get("content-length") ?? "";
  return /^\d+$/.test(length) ? Number(length) : undefined;
}

/** Reads `Repr-Digest` (RFC 9530), a digest of the whole file, even if the body is a part of it. */
function digestIn(headers: Headers): string | undefined {
  const text = headers.get("repr-digest") ?? "";
  return /(?:^|,)\s*sha-256=:([a-z\d+/]{43}=):/i.exec(text)?.[1];
}

/** The `Content-Encoding` of a response; empty if it is not encoded. */
export function encodingOf({ headers }: Response): string {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  return encoding === "identity" ? "" : encoding;
}
