/** A proxy on loopback that breaks connections, as a bad network does. */
import { type AddressInfo, createServer, type Socket } from "node:net"; // Deno.Conn cannot send a reset.
import { setTimeout as pause } from "node:timers/promises";
import {
  bodyStart,
  bytesOf,
  type NextBytes,
  readRequest,
  readToEnd,
  withConnectionHeader,
  writeAll,
} from "./raw_http.ts";

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
 * - `drip`: the response arrives byte by byte, with 20 milliseconds between two bytes
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

export interface FaultProxyOptions {
  target: { hostname: string; port: number };
  /** Whether clients may reuse a connection. Default: every connection ends after one response. */
  keepAlive?: boolean;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options);
  await proxy.listen();
  return proxy;
}

class FaultProxy implements AsyncDisposable {
  readonly counts = {
    /** Requests that arrived at least in part. */
    requests: 0,
    /** Requests to which the target responded, whether or not the client received the response. */
    judged: 0,
  };
  readonly #options: FaultProxyOptions;
  readonly #closing = new AbortController();
  readonly #sockets = new Set<Socket>();
  readonly #targets = new Set<Deno.Conn>();
  readonly #work: Promise<void>[] = [];
  readonly #server = createServer({ noDelay: true }, (socket) => {
    this.#work.push(this.#serve(socket));
  });
  #faults: Fault[] = [];

  constructor(options: FaultProxyOptions) {
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Sets the faults of the next requests, one for each. Later requests pass. */
  plan(faults: Fault | Fault[]): void {
    this.#faults = [faults].flat();
  }

  async listen(): Promise<void> {
    await new Promise<void>((listening, failed) => {
      this.#server.once("error", failed).listen(0, "127.0.0.1", listening);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The server ends when its last connection ends.
    const ended = new Promise((done) => this.#server.close(done));
    this.#closing.abort();
    for (const socket of this.#sockets) socket.destroy();
    for (const target of this.#targets) this.#endTarget(target);
    await Promise.all([ended, ...this.#work]);
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    // A pending read or write throws the same error.
    socket.on("error", () => {});
    const chunks = socket.iterator({ destroyOnReturn: false });
    const next = async () => (await chunks.next()).value ?? null;
    try {
      while (await this.#serveOne(socket, next));
    } catch {
      // The client or the target left, or the proxy ends.
    } finally {
      this.#sockets.delete(socket);
      socket.destroySoon();
    }
  }

  /** Whether the connection may carry another request. */
  async #serveOne(socket: Socket, next: NextBytes): Promise<boolean> {
    const start = await next();
    if (start === null) return false;
    this.counts.requests++;
    const fault = this.#faults.shift() ?? "pass";
    if (fault === "resetBefore") return reset(socket);
    const request = await readRequest(next, start);
    if (request === null) return false;
    if (fault === "never") return await untilLeft(next);

    const answer = await this.#judge(request);
    if (fault === "resetAfterRequest") return reset(socket);
    if (fault === "closeAfterRequest") return false;
    if (fault === "neverAfterRequest") return await untilLeft(next);
    if (fault === "closeMidAnswer") {
      await write(socket, answer.subarray(0, (bodyStart(answer) + answer.length) / 2));
      return false;
    }
    if (fault === "drip") await this.#drip(socket, answer);
    else await write(socket, answer);
    return this.#options.keepAlive ?? false;
  }

  async #judge(request: Uint8Array): Promise<Uint8Array> {
    const target = await Deno.connect(this.#options.target);
    this.#targets.add(target);
    try {
      await writeAll(target, withConnectionHeader(request, "close"));
      const answer = await readToEnd(bytesOf(target));
      this.counts.judged++;
      return withConnectionHeader(answer, this.#options.keepAlive ? undefined : "close");
    } finally {
      this.#endTarget(target);
    }
  }

  async #drip(socket: Socket, answer: Uint8Array): Promise<void> {
    const { signal } = this.#closing;
    for (let at = 0; at < answer.length; at++) {
      await write(socket, answer.subarray(at, at + 1));
      await pause(20, undefined, { signal });
    }
  }

  #endTarget(target: Deno.Conn): void {
    if (this.#targets.delete(target)) target.close();
  }
}

function reset(socket: Socket): false {
  socket.resetAndDestroy();
  return false;
}

async function untilLeft(next: NextBytes): Promise<false> {
  while (await next() !== null);
  return false;
}

function write(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((done, failed) => {
    socket.write(bytes, (error) => error ? failed(error) : done());
  });
}
