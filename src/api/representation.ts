/**
 * What the headers of an answer tell of the file behind it: whether it is the same, how long, and its
 * digest.
 */

/** A digest of the whole file. */
export interface Digest {
  /** As `node:crypto` calls it. */
  readonly algorithm: "sha512" | "sha256" | "sha1" | "md5";
  /** In base64. */
  readonly value: string;
}

/** What is needed to resume a file that is not whole yet. */
export interface Representation {
  /** A strong `ETag` or a `Last-Modified` for `If-Range`; `undefined`: it cannot be resumed. */
  readonly validator?: string | undefined;
  /** The `ETag` as it was given, a weak one too. */
  readonly tag?: string | undefined;
  /** The `Last-Modified` as it was given. */
  readonly modified?: string | undefined;
  /** Length in bytes. */
  readonly total?: number | undefined;
  readonly digest?: Digest | undefined;
}

/** Reads an answer that holds the file from its first byte. */
export function representationOf(response: Response): Representation {
  const { headers } = response;
  // Length, parts and digest of a packed answer are not those of the file.
  if (isPacked(response)) return {};
  const length = headers.get("content-length");
  return {
    validator: headers.get("accept-ranges") === "none" ? undefined : validatorOf(headers),
    tag: headers.get("etag") ?? undefined,
    modified: headers.get("last-modified") ?? undefined,
    total: length === null ? undefined : Number(length),
    digest: digestOf(headers),
  };
}

/** Whether a body was packed on the way, as with gzip. */
export function isPacked({ headers }: Response): boolean {
  return !["", "identity"].includes(headers.get("content-encoding") ?? "");
}

/** RFC 9110, 13.1.5: no weak tag, and no date that may stand for two versions of the same second. */
function validatorOf(headers: Headers): string | undefined {
  const tag = headers.get("etag");
  if (tag?.startsWith('"')) return tag;
  const modified = headers.get("last-modified") ?? "";
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(modified);
  return age >= 1_000 ? modified : undefined;
}

/** The range that an answer holds (RFC 9110, 14.4). */
export function rangeOf(headers: Headers): { start?: number; total?: number } {
  const found = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
  const [, start, total] = found ?? [];
  return {
    ...(start !== undefined && { start: Number(start) }),
    ...(total !== undefined && total !== "*" && { total: Number(total) }),
  };
}

/** Whether an answer holds the file from this byte on. */
export function isRest(response: Response, size: number, of: Representation): boolean {
  return rangeOf(response.headers).start === size && !isPacked(response) &&
    isSameVersion(response.headers, of);
}

/** Whether an answer 416 says that the file ends with this byte. */
export function isEnd(headers: Headers, size: number, of: Representation): boolean {
  return rangeOf(headers).total === size && isSameVersion(headers, of);
}

/**
 * Whether an answer is about the version that was begun: not every server and proxy heeds `If-Range`.
 * What only one of the two answers has counts as another version. Only the date may be missing beside
 * a strong tag (RFC 9110, 15.3.7).
 */
function isSameVersion(headers: Headers, of: Representation): boolean {
  const { total } = rangeOf(headers);
  const tag = headers.get("etag") ?? undefined;
  const modified = headers.get("last-modified") ?? undefined;
  const isDateLeftOut = modified === undefined && tag?.startsWith('"');
  return tag === of.tag && (modified === of.modified || isDateLeftOut === true) &&
    (of.total === undefined || total === undefined || total === of.total);
}

const STRONGEST_FIRST = ["sha512", "sha256", "sha1", "md5"] as const;

/**
 * The strongest digest that is given: RFC 9530 (`Repr-Digest`, `Content-Digest`), its forerunners
 * (`Digest`, `Content-MD5`), and those of file stores. Those of a file that was stored in parts, such as
 * `…-12`, are no digests of the whole.
 */
function digestOf(headers: Headers): Digest | undefined {
  const listed = ["repr-digest", "content-digest", "digest", "x-goog-hash"]
    .flatMap((name) => (headers.get(name) ?? "").split(","))
    .map((each) => /^\s*([\w-]+)\s*=\s*:?([\w+/]+={0,2}):?\s*$/.exec(each));
  const named = [
    ...listed.map((each) => [each?.[1] ?? "", each?.[2] ?? ""]),
    ["sha256", headers.get("x-amz-checksum-sha256") ?? ""],
    ["sha1", headers.get("x-amz-checksum-sha1") ?? ""],
    ["md5", headers.get("content-md5") ?? ""],
  ].map(([name = "", value = ""]) => [name.toLowerCase().replace("-", ""), value.trim()]);
  for (const algorithm of STRONGEST_FIRST) {
    const value = named.find(([name, text = ""]) => name === algorithm && /^[\w+/]+=*$/.test(text));
    if (value?.[1]) return { algorithm, value: value[1] };
  }
  return undefined;
}

/** Whether a note can be used: it may come from another version, or have been changed. */
export function isRepresentation(noted: unknown): noted is Representation {
  const { validator, tag, modified, total, digest } = noted as Record<
    keyof Representation,
    unknown
  >;
  const { algorithm, value } = (digest ?? { algorithm: "md5", value: "" }) as Record<
    string,
    unknown
  >;
  return typeof validator === "string" && /^[\x20-\x7e]+$/.test(validator) &&
    (validator === tag || validator === modified) &&
    [tag, modified].every((each) => each === undefined || typeof each === "string") &&
    (total === undefined || Number.isSafeInteger(total)) &&
    STRONGEST_FIRST.some((known) => known === algorithm) && typeof value === "string";
}
