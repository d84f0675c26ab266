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
