/** The process behind a kernel, its end, and the four sockets connected to it. */

import { stripVTControlCharacters } from "node:util";
import {
  type Channel,
  type ConnectionFile,
  HOSTNAME,
  writeConnectionFile,
} from "./connection_file.ts";
import { settlesWithin } from "../support/settles_within.ts";
import { ZmtpSocket, type ZmtpSocketType } from "./zmtp.ts";

const CONNECT_STEP_MS = 25;
const LAST_WORDS_MS = 2_000;
const KEPT_STDERR_CHARACTERS = 2_000;

const SOCKET_TYPES: Record<Channel, ZmtpSocketType> = {
  shell: "DEALER",
  iopub: "SUB",
  stdin: "DEALER",
  control: "DEALER",
};

/** How to start a kernel. */
export interface KernelOptions {
  /** The working folder: that of the notebook. Its nearest `deno.json` counts. */
  cwd: string | URL;
  /** Variables to add to this process's environment. */
  env?: Record<string, string>;
  /** Start from an empty environment instead. Default `false`. */
  clearEnv?: boolean;
}

/** The kernel's process ended by itself or was killed. */
export class KernelDiedError extends Error {
  override name = "KernelDiedError";
}

/** Another program took one of the chosen ports before the kernel did: new ports help. */
export class PortTakenError extends KernelDiedError {
  override name = "PortTakenError";
}

/** Rethrows unless the error says that the other side of a connection is gone. */
export function connectionEnded(error: unknown): void {
  const { BadResource, BrokenPipe, ConnectionReset } = Deno.errors;
  if (![BadResource, BrokenPipe, ConnectionReset].some((kind) => error instanceof kind)) {
    throw error;
  }
}

/** A `deno jupyter --kernel` process. Whoever starts it has to `end()` it. */
export class KernelProcess {
  readonly connection: ConnectionFile;
  /** Rejects with what is known once the process is gone. */
  readonly died: Promise<never>;
  readonly #child: Deno.ChildProcess;
  readonly #sockets: ZmtpSocket[] = [];
  #alive = true;
  #standardError = "";

  static async start(options: KernelOptions): Promise<KernelProcess> {
    const connection = await writeConnectionFile();
    try {
      const command = new Deno.Command(Deno.execPath(), {
        args: ["jupyter", "--kernel", "--conn", connection.path],
        cwd: options.cwd,
        env: options.env ?? {},
        clearEnv: options.clearEnv ?? false,
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      });
      return new KernelProcess(command.spawn(), connection);
    } catch (error) {
      await Deno.remove(connection.folder, { recursive: true });
      throw error;
    }
  }

  private constructor(child: Deno.ChildProcess, connection: ConnectionFile) {
    this.#child = child;
    this.connection = connection;
    this.died = this.#watch();
    this.died.catch(() => {});
  }

  get alive(): boolean {
    return this.#alive;
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Connects to one of the kernel's sockets as soon as it listens. */
  async connect(channel: Channel, timeoutMs: number): Promise<ZmtpSocket> {
    const { ports, key } = this.connection;
    const options = {
      hostname: HOSTNAME,
      port: ports[channel],
      type: SOCKET_TYPES[channel],
      identity: key,
    };
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      try {
        const socket = await Promise.race([ZmtpSocket.connect(options), this.died]);
        this.#sockets.push(socket);
        return socket;
      } catch (cause) {
        if (performance.now() > deadline) {
          throw new Error(`The kernel did not listen within ${timeoutMs} ms`, { cause });
        }
        await settlesWithin(this.died, CONNECT_STEP_MS);
      }
    }
  }

  /** Kills the process if need be and releases everything. */
  async end(): Promise<void> {
    try {
      if (this.#alive) this.#child.kill("SIGKILL");
    } catch (error) {
      // It may have ended a moment before its status arrived here.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.died.catch(() => {});
    for (const socket of this.#sockets) socket.close();
    await Deno.remove(this.connection.folder, { recursive: true });
  }

  async #watch(): Promise<never> {
    const reader = this.#child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    const read = this.#keepLast(reader);
    const status = await this.#child.status;
    this.#alive = false;
    // A child of the kernel may outlive it and hold the pipe open.
    if (!await settlesWithin(read, LAST_WORDS_MS)) await reader.cancel();
    const how = status.signal ?? `exit status ${status.code}`;
    const said = stripVTControlCharacters(this.#standardError)
      .replace(/^Warning "deno jupyter" is unstable.*$/m, "").trim();
    const Died = said.includes("AddrInUse") ? PortTakenError : KernelDiedError;
    throw new Died(`The kernel died (${how})${said && `; it wrote: ${said}`}`);
  }

  async #keepLast(reader: ReadableStreamDefaultReader<string>): Promise<void> {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      this.#standardError = (this.#standardError + next.value).slice(-KEPT_STDERR_CHARACTERS);
    }
  }
}
