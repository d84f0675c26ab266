/**
 * Reads what the headers of a response say about the file: its version, its length and its digest.
 */

/** A digest of the whole file. */
export interface Digest {
  /** The name of the algorithm in `node:crypto`. */
  readonly algorithm: "sha256" | "md5";
  /** The digest in base64. */
  readonly value: string;
}

/** The facts about a file that are needed to resume and to check its download. */
export interface Version {
  /** A strong `ETag` or a `Last-Modified` for `If-Range`; `undefined`: the file cannot be resumed. */
  readonly validator?: string | undefined;
  /** Length in bytes. */
  readonly total?: number | undefined;
  readonly digest?: Digest | undefined;
  readonly headers: Headers;
}

/** Reads the headers of a response that contains the file from its first byte. */
export function versionOf(headers: Headers): Version {
  const length = headers.get("content-length") ?? "";
  return {
    validator: headers.get("accept-ranges") === "none" ? undefined : validatorOf(headers),
    total: /^\d+$/.test(length) ? Number(length) : undefined,
    digest: digestOf(headers),
    headers,
  };
}

/**
 * The version of an unknown file, or of an encoded response, whose length, ranges and digest are
 * not those of the file.
 */
export const NO_VERSION: Version = versionOf(new Headers());

/**
 * Returns a strong validator (RFC 9110, 13.1.5). A weak tag is not one, nor is a date that could
 * belong to two versions from the same second.
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

/**
 * Headers that a note keeps. {@linkcode versionOf} and {@linkcode isSameVersion} read no others.
 */
const NOTED = ["etag", "last-modified", "date", "content-length", "repr-digest", "content-md5"];

/** Writes a version as text, for a later process. */
export function noteOf({ headers }: Version): string {
  return JSON.stringify([...headers].filter(([name]) => NOTED.includes(name)));
}

/** Reads the version in a note. Returns `undefined` if the note is damaged. */
export function versionIn(note: string): Version | undefined {
  try {
    return versionOf(new Headers(JSON.parse(note)));
  } catch {
    return undefined;
  }
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

/** Whether a response contains the rest of the file, from byte `size` to the end. */
export function isRest(response: Response, size: number, version: Version): boolean {
  return rangeOf(response.headers).start === size && encodingOf(response) === "" &&
    isSameVersion(response.headers, version);
}

/** Whether a 416 says that the file is exactly `size` bytes long. */
export function isEnd(headers: Headers, size: number, version: Version): boolean {
  return rangeOf(headers).total === size && isSameVersion(headers, version);
}

/**
 * Compares versions, because not every server and proxy respects `If-Range`. Versions differ if
 * only one of them has a validator, except that the date may be missing next to a strong tag (RFC
 * 9110, 15.3.7).
 */
function isSameVersion(headers: Headers, { headers: before, total }: Version): boolean {
  const [tag, modified] = [headers.get("etag"), headers.get("last-modified")];
  const isDateLeftOut = modified === null && tag?.startsWith('"') === true;
  const range = rangeOf(headers);
  return tag === before.get("etag") &&
    (modified === before.get("last-modified") || isDateLeftOut) &&
    (total === undefined || range.total === undefined || range.total === total);
}
