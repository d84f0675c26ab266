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
  /** The headers that the version was read from. */
  readonly headers?: Readonly<Record<string, string>>;
}

const HEADERS = [
  "accept-ranges",
  "content-length",
  "content-md5",
  "date",
  "etag",
  "last-modified",
  "repr-digest",
];

/**
 * The version of an unknown file. Also used for an encoded response, because its length, ranges and
 * digest are not those of the file.
 */
export const NO_VERSION: Version = {};

/** Reads the headers of a response that contains the whole file. */
export function versionOf(headers: Headers): Version {
  return {
    validator: headers.get("accept-ranges") === "none" ? undefined : validatorOf(headers),
    etag: headers.get("etag") ?? undefined,
    total: lengthIn(headers),
    digest: representationDigest(headers) ?? bodyDigest(headers),
    headers: Object.fromEntries([...headers].filter(([name]) => HEADERS.includes(name))),
  };
}

/** The `Content-Length` of a response. */
export function lengthIn(headers: Headers): number | undefined {
  const length = headers.get("content-length") ?? "";
  return /^\d+$/.test(length) ? Number(length) : undefined;
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

/** Reads `Repr-Digest` (RFC 9530), a digest of the whole file, even if the body is a part of it. */
export function representationDigest(headers: Headers): Digest | undefined {
  const text = headers.get("repr-digest") ?? "";
  const value = /(?:^|,)\s*sha-256=:([a-z\d+/]{43}=):/i.exec(text)?.[1];
  return value === undefined ? undefined : { algorithm: "sha256", value };
}

/**
 * Reads `Content-MD5`, a digest of the body. Some servers send other text than the base64 of 16
 * bytes, such as hexadecimal digits. Such text must not condemn a correct file.
 */
function bodyDigest(headers: Headers): Digest | undefined {
  const value = headers.get("content-md5") ?? "";
  return /^[a-z\d+/]{22}==$/i.test(value) ? { algorithm: "md5", value } : undefined;
}

/** The `Content-Encoding` of a response; empty if it is not encoded. */
export function encodingOf({ headers }: Response): string {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  return encoding === "identity" ? "" : encoding;
}
