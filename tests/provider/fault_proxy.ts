/** A proxy on loopback that breaks connections, as a bad network does. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"; // Deno.serve() cannot send a reset.
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/**
 * What happens to one request.
 *
 * - `pass`: the target answers it
 * - `resetBefore`: the connection is reset before the target sees anything
 * - `resetAfterRequest`: the target processes it, and the connection is reset without a response
 * - `closeAfterRequest`: the target processes it, and the connection closes without a response
 * - `closeMidAnswer`: the target processes it, and the connection closes after the head and half of the
 *   body of the response
 * - `never`: the target sees nothing, and the connection stays open and silent
 * - `neverAfterRequest`: the target processes it, and the connection stays open and silent
 * - `drip`: the target processes it, and the response arrives byte by byte, without end
 */
export type Fault =
  | "pass"
  | "resetBefore"
  | "resetAfterRequest"
  | "closeAfterRequest"
  | "closeMidAnswer"
  | "never"
  | "neverAfterRequest"
  | "drip";

export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  readonly counts: {
    /** Requests that arrived. */
    requests: number;
    /** Requests to which the target responded, whether or not the client received the response. */
    judged: number;
  };
  /** Sets the faults of the next requests, one for each. Later requests pass. */
  plan(faults: readonly Fault[]): void;
}

/** @param keepAlive Whether clients may reuse a connection. */
export async function startFaultProxy(target: string, keepAlive = false): Promise<FaultProxy> {
  const counts = { requests: 0, judged: 0 };
  let planned: Fault[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    counts.requests++;
    const fault = planned.shift() ?? "pass";
    if (fault === "resetBefore") socket.resetAndDestroy();
    if (fault === "resetBefore" || fault === "never") return;

    const { host: _, ...headers } = request.headers;
    const answer = await fetch(target, {
      method: "POST",
      headers: new Headers(headers as Record<string, string>),
      body: await text(request),
      redirect: "manual",
    });
    const body = await answer.bytes();
    counts.judged++;
    if (fault === "neverAfterRequest") return;
    if (fault === "resetAfterRequest") return void socket.resetAndDestroy();
    if (fault === "closeAfterRequest") return void socket.destroy();
    if (!keepAlive) response.setHeader("connection", "close");
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (fault === "closeMidAnswer") {
      response.write(body.subarray(0, body.length / 2), () => socket.destroySoon());
    } else if (fault === "drip") {
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    } else response.end(body);
  }

  const server = createServer(serve);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    counts,
    plan: (faults) => planned = [...faults],
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}
