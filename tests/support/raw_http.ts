/** HTTP/1.1 messages as bytes, for tests of the exact bytes that are sent. */

export interface RawRequest {
  /** The first line without its line end: `POST / HTTP/1.1`. */
  requestLine: string;
  /** The headers in the order sent: names as sent, values trimmed. */
  headers: [name: string, value: string][];
  body: Uint8Array<ArrayBuffer>;
}

/** Parses one request. Throws if the bytes are not a request with CRLF line ends. */
export function parseRaw(bytes: Uint8Array): RawRequest {
  const end = bodyStart(bytes);
  const [requestLine = "", ...lines] = latin1(bytes.subarray(0, end - 4)).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new TypeError(`Cannot parse the request: ${line} is not a header`);
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { requestLine, headers, body: bytes.slice(end) };
}

/** The value of a header, whatever the case of its name. */
export function headerOf(request: RawRequest, name: string): string | undefined {
  return request.headers.find(([sent]) => sent.toLowerCase() === name.toLowerCase())?.[1];
}

/** Returns the bytes that arrive next; `null` if the other side has finished. */
export type NextBytes = () => Promise<Uint8Array | null>;

export function bytesOf(connection: Deno.Conn): NextBytes {
  return async () => {
    const chunk = new Uint8Array(16_384);
    const count = await connection.read(chunk);
    return count === null ? null : chunk.subarray(0, count);
  };
}

/**
 * Reads one whole request; `null` if the connection ends before the request does.
 *
 * @param started Bytes of the request that have already been read.
 */
export async function readRequest(
  next: NextBytes,
  started: Uint8Array = new Uint8Array(),
): Promise<Uint8Array | null> {
  let bytes = started;
  while (!isWhole(bytes)) {
    const chunk = await next();
    if (chunk === null) return null;
    bytes = concat(bytes, chunk);
  }
  return bytes;
}

/** Reads until the other side has finished. */
export async function readToEnd(next: NextBytes): Promise<Uint8Array> {
  let bytes = new Uint8Array();
  for (let chunk; (chunk = await next()) !== null;) bytes = concat(bytes, chunk);
  return bytes;
}

export async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await connection.write(bytes.subarray(written));
  }
}

/** A listener on loopback. The test decides what happens to each connection. */
export interface RawServer extends AsyncDisposable {
  readonly origin: string;
}

/** Closes each connection when its work is done or the client has left. */
export function serveRaw(work: (connection: Deno.Conn) => Promise<void>): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const serve = async (connection: Deno.Conn) => {
    open.add(connection);
    try {
      await work(connection);
    } catch {
      // The client has left, or the server is closed: nobody waits for a response.
    } finally {
      open.delete(connection);
      // Harmless if the connection's streams have already closed it.
      connection[Symbol.dispose]();
    }
  };
  const served = (async () => {
    const running: Promise<void>[] = [];
    for await (const connection of listener) running.push(serve(connection));
    await Promise.all(running);
  })();
  return {
    origin: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection[Symbol.dispose]();
      await served;
    },
  };
}

/** A server that keeps the bytes of each request, oldest first. */
export interface Recorder extends RawServer {
  readonly requests: Uint8Array[];
}

/** Records each request, sends the response, and closes the connection. */
export function record(response: string = rawAnswer(200, "{}")): Recorder {
  const requests: Uint8Array[] = [];
  const server = serveRaw(async (connection) => {
    const request = await readRequest(bytesOf(connection));
    if (request === null) return;
    requests.push(request);
    await writeAll(connection, new TextEncoder().encode(response));
  });
  return { ...server, requests };
}

/** An HTTP/1.1 response as text, after which the connection ends. */
export function rawAnswer(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): string {
  const length = new TextEncoder().encode(body).length;
  const all = { ...headers, "content-length": String(length), connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} Canned`, ...lines, "", body].join("\r\n");
}

/** The offset at which the body of a message begins. Throws if the head does not end. */
export function bodyStart(bytes: Uint8Array): number {
  const end = headEnd(bytes);
  if (end === undefined) throw new TypeError("Cannot find the body: the head does not end");
  return end;
}

/** The message with this `connection` header instead of its own; without a value, with none. */
export function withConnectionHeader(bytes: Uint8Array, value?: string): Uint8Array<ArrayBuffer> {
  const end = bodyStart(bytes);
  const lines = latin1(bytes.subarray(0, end - 4)).split("\r\n")
    .filter((line) => !/^(connection|keep-alive):/i.test(line));
  if (value !== undefined) lines.push(`connection: ${value}`);
  const head = Uint8Array.from(`${lines.join("\r\n")}\r\n\r\n`, (char) => char.charCodeAt(0));
  return concat(head, bytes.subarray(end));
}

function isWhole(bytes: Uint8Array): boolean {
  const end = headEnd(bytes);
  if (end === undefined) return false;
  const request = parseRaw(bytes);
  if (headerOf(request, "transfer-encoding") !== undefined) {
    return latin1(bytes.subarray(end - 2)).endsWith("\r\n0\r\n\r\n");
  }
  return request.body.length >= Number(headerOf(request, "content-length") ?? 0);
}

function headEnd(bytes: Uint8Array): number | undefined {
  const at = latin1(bytes).indexOf("\r\n\r\n");
  return at < 0 ? undefined : at + 4;
}

// One character for each byte, so that positions in the text are positions in the bytes. TextDecoder's
// "latin1" is actually windows-1252, which differs from 0x80 to 0x9f.
function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
