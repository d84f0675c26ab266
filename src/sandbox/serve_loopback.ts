import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ConnectionLost } from "./failures.ts";

/** One of the three systems on a port of 127.0.0.1. */
export interface LoopbackServer {
  readonly origin: string;
  close(): Promise<void>;
}

/** The handler to serve, and its port. */
export interface LoopbackOptions {
  /** 0: any free port. */
  port: number;
  /** Largest body of a request, in bytes. */
  bodyLimit: number;
  handle: (request: Request) => Promise<Response>;
}

/** The error for a request that the server refuses before any system receives the request. */
class Refused extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

const MIB = 1024 * 1024;

// Matches the hosts that are served. A web page can point its own host name to this machine (DNS
// rebinding). The browser then sends that host name, so requests with any other host are refused.
const OWN_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Serves a handler on 127.0.0.1. Uses node:http, because `Deno.serve` cannot cut a connection
 * before the response. A sandbox without ports does not need node:http, so this function loads it
 * on demand.
 */
export async function serveLoopback(options: LoopbackOptions): Promise<LoopbackServer> {
  const { createServer } = await import("node:http");
  let origin = "";
  const server = createServer((message, outgoing) => {
    respond(message, outgoing, origin, options).catch(() => message.socket.destroy());
  });
  server.on("connect", (_message, socket) => {
    socket.on("error", () => {});
    socket.end("HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  });
  // With the default of 5 s, the server would close connections between two cells of a notebook.
  server.keepAliveTimeout = 60_000;
  await listen(server, options.port);
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new TypeError("Cannot start the sandbox: the server did not report its port");
  }
  origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(
        new Error(
          `Cannot start the sandbox: port ${port} of 127.0.0.1 cannot be opened ` +
            `(${error.message}), perhaps because another sandbox is using it; ` +
            "choose another port with the option port (--port), or 0 for any free ports",
          { cause: error },
        ),
      );
    });
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

async function respond(
  message: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
  { bodyLimit, handle }: LoopbackOptions,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort(new ConnectionLost()));
  let response: Response;
  // A client may send the whole URL (RFC 9112, section 3.2.2).
  const [, host = "", path] = /^http:\/\/([^/]+)(.*)$/i.exec(message.url ?? "") ?? [];
  if (OWN_HOST.test(host)) message.url = path;
  try {
    checkHead(message);
    const body = await readBody(message, bodyLimit);
    response = await handle(toRequest(message, origin, body, gone.signal));
  } catch (error) {
    if (error instanceof ConnectionLost || gone.signal.aborted) throw error;
    // A client reads the response only after it has sent the whole body. The rest of the body is
    // therefore received and discarded.
    message.resume();
    response = errorResponse(error);
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  outgoing.writeHead(response.status);
  outgoing.end(bytes);
}

/** @throws {Refused} If the sandbox does not serve this host, method or target. */
function checkHead({ headers, method = "GET", url = "/" }: IncomingMessage): void {
  if (!OWN_HOST.test(headers.host ?? "")) {
    throw new Refused(
      421,
      "foreign_host",
      "Cannot serve this host name: the sandbox serves only this machine; " +
        "open it as 127.0.0.1 or localhost.",
    );
  }
  // `new Request()` throws for these methods.
  if (/^(TRACE|TRACK|CONNECT)$/i.test(method)) {
    throw new Refused(405, "method_not_allowed", `Cannot serve ${method}: send GET or POST.`);
  }
  if (!url.startsWith("/")) {
    const message = "Cannot read the address: it must begin with a slash; send only the path.";
    throw new Refused(400, "bad_target", message);
  }
}

/**
 * Reads a body up to the limit.
 *
 * @throws {Refused} If the body is larger than the limit.
 * @throws {ConnectionLost} If the sender closed the connection.
 */
async function readBody(message: IncomingMessage, limit: number): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > limit) break;
      chunks.push(new Uint8Array(chunk));
    }
  } catch {
    throw new ConnectionLost();
  }
  if (bytes <= limit) return new Blob(chunks);
  const text = `Cannot accept this body: it is larger than ${limit / MIB} MiB; send a smaller one.`;
  throw new Refused(413, "body_too_large", text);
}

function toRequest(
  message: IncomingMessage,
  origin: string,
  body: Blob,
  signal: AbortSignal,
): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    for (const each of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, each);
  }
  const method = message.method ?? "GET";
  // The URL contains the server's own origin instead of the host in the Host header, so that a
  // request to "localhost" reaches the system on this origin.
  const url = `${origin}${message.url ?? "/"}`;
  const bodyless = method === "GET" || method === "HEAD";
  return new Request(url, { method, headers, body: bodyless ? null : body, signal });
}

function errorResponse(error: unknown): Response {
  if (error instanceof Refused) {
    const { status, code, message } = error;
    const headers: Record<string, string> = status === 405 ? { allow: "GET, HEAD, POST" } : {};
    return Response.json({ error: code, message }, { status, headers });
  }
  const text = error instanceof Error ? error.message : "unknown error";
  return new Response(`The sandbox itself failed: ${text}\n`, { status: 500 });
}
