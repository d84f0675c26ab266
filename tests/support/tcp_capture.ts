/** A listener that keeps the raw bytes of each request, and the golden requests to compare with. */
import { bytesOf, parseRaw, type RawRequest, readRequest, serveRaw, writeAll } from "./raw_http.ts";

export { headerOf, parseRaw, type RawRequest } from "./raw_http.ts";

export interface TcpCapture extends AsyncDisposable {
  readonly url: string;
  /** The bytes of each request, oldest first. */
  readonly requests: Uint8Array[];
}

/**
 * Records each request and sends the next response, then closes the connection. After the last
 * response, connections are closed without one.
 *
 * @param responses Whole HTTP/1.1 responses, such as those of {@linkcode rawAnswer}.
 */
export function startTcpCapture(responses: string[]): TcpCapture {
  const requests: Uint8Array[] = [];
  const remaining = responses.values();
  const { origin, [Symbol.asyncDispose]: dispose } = serveRaw(async (connection) => {
    const request = await readRequest(bytesOf(connection));
    if (request === null) return;
    requests.push(request);
    const { value } = remaining.next();
    if (value !== undefined) await writeAll(connection, new TextEncoder().encode(value));
  });
  return { url: `${origin}/`, requests, [Symbol.asyncDispose]: dispose };
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

/** Reads a `data/golden_*.http` file. Its lines end with LF, and so does its body. */
export async function readGolden(name: string): Promise<RawRequest> {
  const text = await Deno.readTextFile(new URL(`./data/${name}`, import.meta.url));
  const wire = text.replaceAll(/\r?\n/g, "\r\n").replace(/\r\n$/, "");
  return parseRaw(new TextEncoder().encode(wire));
}
