import {
  bytesOf,
  headerOf,
  parseRaw,
  type RawServer,
  readRequest,
  serveRaw,
  writeAll,
} from "./raw_http.ts";

/** A request for the file, and what was sent of it. */
export interface Asked {
  readonly path: string;
  readonly query: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** Number of bytes of the file that were sent. */
  sent: number;
}

/** How a server behaves. Tests may change this while the server runs. */
export interface FileServerOptions {
  content: Uint8Array<ArrayBuffer>;
  /** The ETag; `""`: none. Default: `"one"` with its quotes. */
  etag?: string;
  headers?: Record<string, string>;
  /** Sends the rest of the file regardless of `If-Range`. */
  ignoresIfRange?: boolean;
  /** Number of bytes of the file after which the connection closes. Default: it sends all. */
  dropAfter?: number;
  /** A response instead of the file: status line and headers. */
  instead?: (asked: Asked, count: number) => string | undefined;
  /** Called before the server drops a connection, and awaited. */
  beforeDrop?: () => Promise<void>;
}

/**
 * A server for one file that supports ranges and can drop connections. It writes directly to the
 * socket, so the bytes that it counts as sent have arrived.
 */
export interface FileServer extends RawServer {
  readonly asked: readonly Asked[];
  readonly options: FileServerOptions;
}

const PIECE_BYTES = 65_536;

export function startFileServer(options: FileServerOptions): FileServer {
  const asked: Asked[] = [];
  const server = serveRaw(async (connection) => {
    const raw = await readRequest(bytesOf(connection));
    if (raw === null) return;
    const request = parseRaw(raw);
    const [path = "", query = ""] = (request.requestLine.split(" ")[1] ?? "").split("?");
    const range = headerOf(request, "range");
    const each: Asked = {
      path,
      query,
      range,
      ifRange: headerOf(request, "if-range"),
      sent: 0,
      authorization: headerOf(request, "authorization"),
      acceptEncoding: headerOf(request, "accept-encoding"),
    };
    asked.push(each);
    const instead = options.instead?.(each, asked.length);
    const text = (head: string) =>
      writeAll(connection, new TextEncoder().encode(`${head}\r\n\r\n`));
    if (instead !== undefined) {
      return await text(`HTTP/1.1 ${instead}\r\nconnection: close\r\ncontent-length: 0`);
    }
    const { content, etag = `"one"`, headers = {}, dropAfter = Infinity } = options;
    const isSame = options.ignoresIfRange || each.ifRange === undefined || each.ifRange === etag;
    const start = isSame ? Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0) : 0;
    const { length } = content;
    const lines = [
      start > 0
        ? `206 Partial Content\r\ncontent-range: bytes ${start}-${length - 1}/${length}`
        : "200 OK",
      `content-length: ${length - start}\r\nconnection: close`,
      ...(etag === "" ? [] : [`etag: ${etag}`]),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ];
    await text(`HTTP/1.1 ${lines.join("\r\n")}`);
    const end = Math.min(length, start + dropAfter);
    for (let at = start; at < end; at += PIECE_BYTES) {
      const piece = content.subarray(at, Math.min(at + PIECE_BYTES, end));
      await writeAll(connection, piece);
      each.sent += piece.length;
    }
    if (end < length) await options.beforeDrop?.();
  });
  return { ...server, asked, options };
}

/** Bytes that differ from place to place, but are the same in each run. */
export function contentOf(size: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(size / 4));
  let word = 2_463_534_242;
  for (let at = 0; at < words.length; at++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[at] = word;
  }
  return new Uint8Array(words.buffer, 0, size);
}
