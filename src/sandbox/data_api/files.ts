import { createHash } from "../node_crypto.ts";

/** A file that the API or the portal's origin serves. */
export interface FileContent {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Responds with a file, or with the range that the request asks for (RFC 9110, 13.1.5 and 14.2). A
 * range starts at an offset, lies between two offsets, or consists of the last bytes. A request for
 * several ranges gets the whole file.
 */
export function fileResponse(request: Request, { type, bytes }: FileContent): Response {
  const digest = createHash("sha256").update(bytes).digest("base64");
  const etag = `"${digest.slice(0, 16)}"`;
  const headers = new Headers({
    "accept-ranges": "bytes",
    "content-type": type,
    etag,
    "repr-digest": `sha-256=:${digest}:`,
  });
  const respond = (status: number, part: Uint8Array<ArrayBuffer>) => {
    headers.set("content-length", String(part.length));
    return new Response(request.method === "HEAD" ? null : part, { status, headers });
  };
  const isSame = (request.headers.get("if-range") ?? etag) === etag;
  const range = requestedRange(request.headers.get("range") ?? "", bytes.length);
  if (range === undefined || !isSame || request.method !== "GET") return respond(200, bytes);
  const { start, end } = range;
  if (start >= end) {
    headers.set("content-range", `bytes */${bytes.length}`);
    return respond(416, new Uint8Array());
  }
  headers.set("content-range", `bytes ${start}-${end - 1}/${bytes.length}`);
  return respond(206, bytes.subarray(start, end));
}

/** The bytes from `start` up to but not including `end`; empty if the file has none of them. */
function requestedRange(header: string, size: number): { start: number; end: number } | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return { start: Math.max(0, size - Number(last)), end: size };
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) };
}
