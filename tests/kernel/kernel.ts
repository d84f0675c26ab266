/** A client for a real Deno kernel: starts `deno jupyter --kernel` and runs cells like a front end. */

import {
  type CellResult,
  CellTimeoutError,
  type ExecuteOptions,
  type InputRequest,
} from "./cell.ts";
import type { Channel } from "./connection_file.ts";
import {
  connectionEnded,
  KernelDiedError,
  type KernelOptions,
  KernelProcess,
  PortTakenError,
} from "./kernel_process.ts";
import { type Output, OutputCollector, tracebackOf } from "../notebooks/outputs.ts";
import { settlesWithin } from "../support/settles_within.ts";
import { type JsonRecord, type Message, textOf, Wire } from "./wire.ts";
import type { ZmtpSocket } from "./zmtp.ts";

export { CellTimeoutError, KernelDiedError };
export type { CellResult, ExecuteOptions, InputRequest, KernelOptions, Output };

const START_ATTEMPTS = 3;
const START_TIMEOUT_MS = 120_000;
const CELL_TIMEOUT_MS = 120_000;
const SHUTDOWN_TIMEOUT_MS = 2_000;
const SILENCE_STEP_MS = 20;
const READY_STEP_MS = 100;

type Sockets = Record<Channel, ZmtpSocket>;

/** Starts a kernel and waits until its messages arrive. */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  for (let attempt = 1;; attempt++) {
    const process = await KernelProcess.start(options);
    try {
      return await Kernel.connect(process, START_TIMEOUT_MS);
    } catch (error) {
      await process.end();
      if (attempt === START_ATTEMPTS || !(error instanceof PortTakenError)) throw error;
    }
  }
}

interface RunningCell {
  id: string;
  outputs: Output[];
  inputs: InputRequest[];
  onInput: ExecuteOptions["onInput"];
  reply: PromiseWithResolvers<JsonRecord>;
  idle: PromiseWithResolvers<void>;
}

/** A running kernel. Close it, or declare it with `await using`. */
export class Kernel implements AsyncDisposable {
  readonly #process: KernelProcess;
  readonly #sockets: Sockets;
  readonly #wire: Wire;
  readonly #collector = new OutputCollector();
  readonly #subscribed = Promise.withResolvers<void>();
  readonly #loops: Promise<void>[];
  #messages = 0;
  #quiet: Promise<void> = Promise.resolve();
  #cell: RunningCell | undefined;
  #marker: Pick<RunningCell, "id" | "idle"> | undefined;
  #closing: Promise<void> | undefined;

  static async connect(process: KernelProcess, timeoutMs: number): Promise<Kernel> {
    const kernel = new Kernel(process, {
      shell: await process.connect("shell", timeoutMs),
      iopub: await process.connect("iopub", timeoutMs),
      stdin: await process.connect("stdin", timeoutMs),
      control: await process.connect("control", timeoutMs),
    });
    await kernel.#ready(timeoutMs);
    return kernel;
  }

  private constructor(process: KernelProcess, sockets: Sockets) {
    this.#process = process;
    this.#sockets = sockets;
    this.#wire = new Wire(process.connection.key);
    this.#loops = [
      this.#listen("shell", (message) => this.#onShell(message)),
      this.#listen("iopub", (message) => this.#onIopub(message)),
      this.#listen("stdin", (message) => this.#onStdin(message)),
      this.#listen("control", () => {}),
    ];
  }

  get alive(): boolean {
    return this.#process.alive;
  }

  /** Runs one cell to its end. Rejects on a time-out and when the kernel dies, not when it throws. */
  async execute(code: string, options: ExecuteOptions = {}): Promise<CellResult> {
    if (this.#closing) throw new Error("Cannot run a cell: the kernel is closed");
    if (this.#cell) throw new Error("Cannot run a cell: await the one before");
    const { onInput, timeoutMs = CELL_TIMEOUT_MS } = options;
    const { id, frames } = this.#wire.encode("execute_request", {
      code,
      silent: false,
      store_history: true,
      user_expressions: {},
      allow_stdin: onInput !== undefined,
      stop_on_error: true,
    });
    const cell: RunningCell = {
      id,
      outputs: this.#collector.open(id),
      inputs: [],
      onInput,
      reply: Promise.withResolvers(),
      idle: Promise.withResolvers(),
    };
    this.#cell = cell;
    const tooLate = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => tooLate.reject(new CellTimeoutError(timeoutMs, cell.outputs)),
      timeoutMs,
    );
    try {
      return await Promise.race([this.#run(cell, frames), tooLate.promise, this.#process.died]);
    } finally {
      clearTimeout(timer);
      this.#cell = undefined;
    }
  }

  /** The effect of "Stop": SIGINT to the process. */
  interrupt(): void {
    this.#process.kill("SIGINT");
  }

  /** Asks the kernel to end and kills it when it does not. May be called twice. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Asks until iopub is subscribed: what is published before that is lost. */
  async #ready(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    do {
      if (performance.now() > deadline) {
        throw new Error(`The kernel did not answer within ${timeoutMs} ms`);
      }
      await this.#send("shell", "kernel_info_request", {}).catch(connectionEnded);
    } while (
      !await settlesWithin(
        Promise.race([this.#subscribed.promise, this.#process.died]),
        READY_STEP_MS,
      )
    );
    await (this.#quiet = this.#silence());
  }

  async #run(cell: RunningCell, frames: Uint8Array[]): Promise<CellResult> {
    const sent = this.#sockets.shell.send(frames).catch(connectionEnded);
    const [reply] = await Promise.all([cell.reply.promise, cell.idle.promise, sent]);
    await this.#passThrough();
    await (this.#quiet = this.#silence());
    const { outputs, inputs } = cell;
    const executionCount = typeof reply.execution_count === "number" ? reply.execution_count : null;
    if (reply.status === "ok") return { status: "ok", outputs, inputs, executionCount };
    return {
      status: "error",
      outputs,
      inputs,
      executionCount,
      ename: textOf(reply.ename),
      evalue: textOf(reply.evalue),
      traceback: tracebackOf(reply),
    };
  }

  /**
   * Runs nothing, by the way that cells go. What a cell shows may leave the kernel after "idle", by
   * other threads; each of them had its turn once the kernel is idle again.
   */
  async #passThrough(): Promise<void> {
    const { id, frames } = this.#wire.encode("execute_request", {
      code: "",
      silent: true,
      store_history: false,
      user_expressions: {},
      allow_stdin: false,
      stop_on_error: false,
    });
    this.#marker = { id, idle: Promise.withResolvers() };
    await this.#sockets.shell.send(frames).catch(connectionEnded);
    await this.#marker.idle.promise;
  }

  /**
   * 40 ms without a message. In two steps, so that a timer that is late on a busy machine does not end
   * the wait before the sockets were read.
   */
  async #silence(): Promise<void> {
    for (let seen = -1; seen !== this.#messages;) {
      seen = this.#messages;
      await delay(SILENCE_STEP_MS);
      await delay(SILENCE_STEP_MS);
    }
  }

  async #listen(
    channel: Channel,
    on: (message: Message) => void | Promise<void>,
  ): Promise<void> {
    const socket = this.#sockets[channel];
    for (let frames = await socket.receive(); frames; frames = await socket.receive()) {
      this.#messages++;
      try {
        await on(this.#wire.decode(frames));
      } catch (error) {
        this.#cell?.reply.reject(error);
      }
    }
  }

  #onShell({ type, parentId, content }: Message): void {
    if (type === "execute_reply" && parentId === this.#cell?.id) this.#cell.reply.resolve(content);
  }

  #onIopub(message: Message): void {
    this.#subscribed.resolve();
    if (message.type !== "status") this.#collector.accept(message);
    else if (message.content.execution_state === "idle") {
      const idle = [this.#cell, this.#marker].find((it) => it?.id === message.parentId);
      idle?.idle.resolve();
    }
  }

  async #onStdin({ type, header, content }: Message): Promise<void> {
    const cell = this.#cell;
    if (type !== "input_request" || cell === undefined) return;
    const asked = { prompt: textOf(content.prompt), password: content.password === true };
    cell.inputs.push(asked);
    const value = await cell.onInput?.(asked.prompt, asked.password, cell.outputs) ?? "";
    await this.#send("stdin", "input_reply", { value, status: "ok" }, header);
  }

  #send(
    channel: Channel,
    type: string,
    content: JsonRecord,
    parent?: JsonRecord,
  ): Promise<void> {
    return this.#sockets[channel].send(this.#wire.encode(type, content, parent).frames);
  }

  async #close(): Promise<void> {
    if (this.alive) {
      await this.#send("control", "shutdown_request", { restart: false }).catch(connectionEnded);
      await settlesWithin(this.#process.died.catch(() => {}), SHUTDOWN_TIMEOUT_MS);
    }
    await this.#process.end();
    await Promise.all([...this.#loops, this.#quiet]);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
