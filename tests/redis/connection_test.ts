import net from "node:net";
import { redisStore } from "../../src/redis/mod.ts";
import { rejection } from "../support/portless.ts";

/** Holds back all connections that `node:net` opens, until `release()`. */
function heldConnections(): Disposable & { release(): void } {
  const real = net.createConnection;
  const held: (() => void)[] = [];
  Object.assign(net, {
    createConnection(options: net.TcpNetConnectOpts) {
      const socket = new net.Socket();
      held.push(() => socket.connect(options));
      return socket;
    },
  });
  return {
    release: () => held.splice(0).forEach((connect) => connect()),
    [Symbol.dispose]: () => Object.assign(net, { createConnection: real }),
  };
}

// On a busy machine, a program would otherwise never end, because of the open connection.
Deno.test(
  "a connection that is established after its time limit is closed",
  { timeout: 60_000 },
  async () => {
    using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    using connections = heldConnections();
    const store = redisStore(`redis://127.0.0.1:${server.addr.port}`);
    await rejection(store.read(AbortSignal.abort()));
    connections.release();
    const { readable } = await server.accept();
    for await (const _ of readable);
  },
);
