/** A server on a free port of loopback. */
export interface LocalServer extends AsyncDisposable {
  readonly origin: string;
  readonly host: string;
}

/** Serves until it is disposed of, over HTTP, or over TLS if a certificate is given. */
export function serveLocal(
  handle: (request: Request) => Response | Promise<Response>,
  certificate?: { cert: string; key: string },
): LocalServer {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...certificate },
    handle,
  );
  // The certificate is for a host name, not for an IP address.
  const host = `${certificate ? "localhost" : "127.0.0.1"}:${server.addr.port}`;
  return {
    origin: `${certificate ? "https" : "http"}://${host}`,
    host,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Serves bytes. Closes each connection when its work is done or the client has left. */
export function serveRaw(work: (connection: Deno.Conn) => Promise<unknown>): LocalServer {
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
  const host = `127.0.0.1:${listener.addr.port}`;
  return {
    origin: `http://${host}`,
    host,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection[Symbol.dispose]();
      await served;
    },
  };
}

/** Reads the start of a request, of up to 16 KiB, as text. */
export async function readText(connection: Deno.Conn): Promise<string> {
  const bytes = new Uint8Array(16_384);
  return new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? 0));
}

/** Responds to each connection with this text, and keeps the start of each request, oldest first. */
export function record(
  response = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
): LocalServer & { readonly requests: readonly string[] } {
  const requests: string[] = [];
  const server = serveRaw(async (connection) => {
    requests.push(await readText(connection));
    await connection.write(new TextEncoder().encode(response));
  });
  return { ...server, requests };
}
