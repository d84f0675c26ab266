import { createHash } from "node:crypto";

/** A file as the API and the portal send it. */
export interface FileContent {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * A file, or the part that a request asks for (RFC 9110, 13.1.5 and 14.2): from an offset, from one
 * offset to another, or the last bytes. Several parts at once are answered with the whole file.
 */
export function fileAnswer(request: Request, { type, bytes }: FileContent): Response {
  const digest = createHash("sha256").update(bytes).digest("base64");
  const etag = `"${digest.slice(0, 16)}"`;
  const headers = new Headers({
    "accept-ranges": "bytes",
    "content-type": type,
    etag,
    "repr-digest": `sha-256=:${digest}:`,
  });
  const answer = (status: number, part: Uint8Array<ArrayBuffer>) => {
    headers.set("content-length", String(part.length));
    return new Response(request.method === "HEAD" ? null : part, { status, headers });
  };
  const isSame = (request.headers.get("if-range") ?? etag) === etag;
  const range = requestedRange(request.headers.get("range") ?? "", bytes.length);
  if (range === undefined || !isSame || request.method !== "GET") return answer(200, bytes);
  const { start, end } = range;
  if (start >= end) {
    headers.set("content-range", `bytes */${bytes.length}`);
    return answer(416, new Uint8Array());
  }
  headers.set("content-range", `bytes ${start}-${end - 1}/${bytes.length}`);
  return answer(206, bytes.subarray(start, end));
}

/** The bytes from `start` up to, but not including, `end`; empty where the file has none of them. */
function requestedRange(header: string, size: number): { start: number; end: number } | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return { start: Math.max(0, size - Number(last)), end: size };
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) };
}
