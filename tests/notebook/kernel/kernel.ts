/** Runs cells on a real Deno kernel, as a front end does, with Python's jupyter_client: `client.py`. */
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import type { Output } from "./notebook.ts";
import { neededVariables } from "../../support/child_deno.ts";
import { type Lack, notInstalled, pythonWith, testNeeding } from "../../support/needs.ts";
import { TextLineStream } from "../../support/text_lines.ts";

export type { Output };

const python = await pythonWith("jupyter_client", "nbformat");
export const PYTHON: string = python ?? "python3";
const CLIENT = fileURLToPath(new URL("client.py", import.meta.url));
const CELL_TIMEOUT_MS = 120_000;

export const NO_CLIENT: Lack | undefined = python === undefined
  ? notInstalled("python3 has no jupyter_client")
  : undefined;

/** Registers a test that needs a kernel. */
export function kernelTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  testNeeding(NO_CLIENT, name, fn);
}

/** How to start a kernel. */
export interface KernelOptions {
  /** The working folder: that of the notebook. Its nearest `deno.json` applies. */
  readonly cwd: string;
  /** Further environment variables. */
  readonly env?: Record<string, string>;
}

export interface ExecuteOptions {
  /** Answers `prompt()`. Without it, the cell has no standard input, and `prompt()` returns `null`. */
  readonly onInput?: (
    prompt: string,
    password: boolean,
    outputs: readonly Output[],
  ) => string | Promise<string>;
}

/** A prompt of a cell. */
export interface InputRequest {
  readonly prompt: string;
  /** Whether the front end masks the answer. */
  readonly password: boolean;
}

/** What a front end would show under the cell. A cell may fail without any output. */
export interface CellResult {
  readonly status: "ok" | "error";
  /** Late output of this cell, sent while another one runs, is added here. */
  readonly outputs: Output[];
  readonly inputs: readonly InputRequest[];
  readonly ename?: string;
  readonly evalue?: string;
  readonly traceback?: string[];
}

/** The kernel's process ended by itself or was killed. */
export class KernelDiedError extends Error {
  override name = "KernelDiedError";
}

interface Cell {
  readonly outputs: Output[];
  readonly inputs: InputRequest[];
  readonly onInput: ExecuteOptions["onInput"];
  readonly result: PromiseWithResolvers<CellResult>;
}

/** A folder with a file `platform-auth`. Errors name the command only where it is installed. */
const COMMAND = fileURLToPath(import.meta.resolve("./bin"));

const START_ATTEMPTS = 3;

/**
 * Starts a kernel and waits until its messages arrive. If another program took a port between the
 * client's choice and the kernel's start, starts another kernel.
 */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  for (let attempt = 1;; attempt++) {
    const kernel = new Kernel(options);
    try {
      await kernel.ready;
      return kernel;
    } catch (error) {
      await kernel[Symbol.asyncDispose]();
      if (attempt === START_ATTEMPTS || !String(error).includes("AddrInUse")) throw error;
    }
  }
}

/** A running kernel. Declare it with `await using`. */
export class Kernel implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #orders: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #events: Promise<void>;
  readonly #started = Promise.withResolvers<void>();
  readonly #cells: Cell[] = [];
  #error: unknown;

  constructor({ cwd, env = {} }: KernelOptions) {
    const needed = neededVariables();
    const kernel = [Deno.execPath(), "jupyter", "--kernel", "--conn"];
    this.#child = new Deno.Command(PYTHON, {
      args: [CLIENT, ...kernel],
      cwd,
      // Without NO_COLOR, plain text contains escape codes for colors.
      env: { ...needed, PATH: `${COMMAND}${delimiter}${needed.PATH}`, NO_COLOR: "1", ...env },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#orders = this.#child.stdin.getWriter();
    this.#events = this.#listen();
  }

  get ready(): Promise<void> {
    return this.#started.promise;
  }

  /** Runs one cell to its end. Rejects on a time-out and when the kernel dies, not when the cell throws. */
  async execute(code: string, { onInput }: ExecuteOptions = {}): Promise<CellResult> {
    if (this.#error) throw this.#error;
    const cell: Cell = { outputs: [], inputs: [], onInput, result: Promise.withResolvers() };
    this.#cells.push(cell);
    const timer = setTimeout(
      () => cell.result.reject(new Error(`The cell was still running after ${CELL_TIMEOUT_MS} ms`)),
      CELL_TIMEOUT_MS,
    );
    this.#order({ run: code, stdin: onInput !== undefined });
    return await cell.result.promise.finally(() => clearTimeout(timer));
  }

  /** Interrupts the kernel, as "Stop" does. */
  interrupt(): void {
    this.#order({ interrupt: true });
  }

  /** Ends the kernel. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#orders.close().catch(() => {});
    await this.#events;
    await this.#child.status;
  }

  #order(order: Record<string, unknown>): void {
    const line = new TextEncoder().encode(`${JSON.stringify(order)}\n`);
    // The write fails if the kernel has ended.
    this.#orders.write(line).catch(() => {});
  }

  async #listen(): Promise<void> {
    let how = "its client ended";
    for await (const line of this.#child.stdout.pipeThrough(new TextLineStream())) {
      const event = JSON.parse(line);
      const cell = this.#cells[event.cell - 1];
      if (event.ready) this.#started.resolve();
      if (event.ended) how = event.ended;
      if (event.outputs) cell?.outputs.splice(0, Infinity, ...event.outputs);
      if (event.input && cell) this.#answer(cell, event.input);
      if (event.reply && cell) {
        const { status, ename, evalue, traceback } = event.reply;
        const failure = status === "error" && { ename, evalue, traceback };
        cell.result.resolve({ status, outputs: cell.outputs, inputs: cell.inputs, ...failure });
      }
    }
    this.#error = new KernelDiedError(`The kernel died (${how})`);
    this.#started.reject(this.#error);
    for (const { result } of this.#cells) result.reject(this.#error);
  }

  async #answer(cell: Cell, input: InputRequest): Promise<void> {
    cell.inputs.push(input);
    try {
      const value = await cell.onInput?.(input.prompt, input.password, cell.outputs) ?? "";
      this.#order({ value });
    } catch (error) {
      cell.result.reject(error);
    }
  }
}
