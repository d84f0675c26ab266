import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ConnectionLost } from "./failures.ts";

/** One of the three systems on a port of 127.0.0.1. */
export interface LoopbackServer {
  readonly origin: string;
  close(): Promise<void>;
}

type Handle = (request: Request) => Promise<Response>;

/**
 * Serves a handler on 127.0.0.1. With node:http, as `Deno.serve` has no way to cut a connection
 * before it has answered; loaded here, so that the port-less sandbox does not pay for it.
 */
export async function serveLoopback(port: number, handle: Handle): Promise<LoopbackServer> {
  const { createServer } = await import("node:http");
  let origin = "";
  const server = createServer((message, answer) => {
    respond(message, answer, origin, handle).catch(() => message.socket.destroy());
  });
  // The default of 5 s would close connections under a person who reads between two cells.
  server.keepAliveTimeout = 60_000;
  await listen(server, port);
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
            `(${error.message}); choose another port, or 0 for any free ones`,
          { cause: error },
        ),
      );
    });
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

async function respond(
  message: IncomingMessage,
  answer: ServerResponse,
  origin: string,
  handle: Handle,
): Promise<void> {
  const gone = new AbortController();
  answer.once("close", () => gone.abort(new ConnectionLost()));
  let response: Response;
  try {
    response = await handle(await toRequest(message, origin, gone.signal));
  } catch (error) {
    if (error instanceof ConnectionLost || gone.signal.aborted) throw error;
    const text = error instanceof Error ? error.message : "unknown error";
    response = new Response(`The sandbox itself failed: ${text}\n`, { status: 500 });
  }
  const headers: [string, string | string[]][] = [...response.headers]
    .filter(([name]) => name !== "set-cookie");
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers.push(["set-cookie", cookies]);
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (const [name, value] of headers) answer.setHeader(name, value);
  answer.writeHead(response.status);
  answer.end(bytes);
}

async function toRequest(
  message: IncomingMessage,
  origin: string,
  signal: AbortSignal,
): Promise<Request> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    for (const each of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, each);
  }
  const method = message.method ?? "GET";
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of message) chunks.push(new Uint8Array(chunk));
  const body = method === "GET" || method === "HEAD" ? null : new Blob(chunks);
  // The server's own origin and not the Host header, so that "localhost" reaches the same system.
  return new Request(`${origin}${message.url ?? "/"}`, { method, headers, body, signal });
}
