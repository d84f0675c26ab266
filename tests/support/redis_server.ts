/** A real Redis server on loopback, in a separate folder. */
import { onFreePort } from "./free_port.ts";
import { readText, serveRaw } from "./local_server.ts";
import { commandPath, type Lack, missingOnWindows, notInstalled } from "./needs.ts";
import { saysReady } from "./text_lines.ts";

const SERVER = commandPath("redis-server", "valkey-server");

/** Why Redis cannot be started; `undefined`: it can. */
export const NO_REDIS: Lack | undefined = missingOnWindows("Redis has no server for Windows") ??
  (SERVER ? undefined : notInstalled("redis-server is not installed"));

export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Kills the process. */
  kill(): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
  /** The content of the server's files. */
  dump(): Promise<string>;
  /** Runs a command line, as an administrator does. @returns The raw response. */
  tell(line: string): Promise<string>;
}

/**
 * @param isKept Whether the data survives a kill.
 * @param tls Options with which the port accepts only TLS.
 */
export async function startRedis(
  folder: string,
  isKept = true,
  tls: readonly string[] = [],
): Promise<RedisServer> {
  let running: { child: Deno.ChildProcess; drained: Promise<void> } | undefined;
  async function start(port: number): Promise<void> {
    const child = new Deno.Command(SERVER ?? "redis-server", {
      args: [
        ...(tls.length > 0 ? ["--port", "0", "--tls-port"] : ["--port"]),
        ...[`${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
        ...(isKept ? ["--appendonly", "yes", "--appendfsync", "always"] : []),
        ...tls,
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const { drained } = await saysReady(
      child.stdout,
      "Ready to accept connections",
      "redis-server",
    ).catch(async (error) => {
      await child.status;
      throw error;
    });
    running = { child, drained };
  }
  async function kill(): Promise<void> {
    running?.child.kill("SIGKILL");
    await Promise.all([running?.child.status, running?.drained]);
    running = undefined;
  }
  const port = await onFreePort(async (port) => {
    await start(port);
    return port;
  });
  return {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    start: () => start(port),
    kill,
    async dump() {
      const files = [...Deno.readDirSync(`${folder}/appendonlydir`)];
      const texts = files.map(({ name }) => Deno.readTextFile(`${folder}/appendonlydir/${name}`));
      return (await Promise.all(texts)).join("\n");
    },
    tell: (line) => tell(port, line),
    [Symbol.asyncDispose]: kill,
  };
}

async function tell(port: number, line: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(`${line}\r\n`));
  return await readText(connection);
}

/** The traffic between clients and a server. */
export interface Wire extends AsyncDisposable {
  readonly url: string;
  readonly heard: () => string;
}

/**
 * A wiretap: forwards its clients to the server, and records the traffic.
 * @param loses Whether a reply of the server does not reach the client.
 */
export function listenIn(port: number, loses: (reply: string) => boolean = () => false): Wire {
  let heard = "";
  const decoder = new TextDecoder();
  const keep = (isLost: (text: string) => boolean) =>
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = decoder.decode(chunk);
        heard += text;
        if (!isLost(text)) controller.enqueue(chunk);
      },
    });
  const wire = serveRaw(async (client) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    await Promise.all([
      client.readable.pipeThrough(keep(() => false)).pipeTo(server.writable),
      server.readable.pipeThrough(keep(loses)).pipeTo(client.writable),
    ]);
  });
  return { ...wire, url: `redis://${wire.host}/0`, heard: () => heard };
}
