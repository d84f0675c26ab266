import type { SessionOptions } from "../mod.ts";
import { pathOf } from "./processes.ts";

/** The token that the processes of a herd find: a valid one, or one that has just expired. */
export type Meeting = "valid" | "expired";

/**
 * Processes that are ready to call at the same moment, each with its own session in the same store.
 */
export class Herd implements AsyncDisposable {
  readonly #workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers;
  }

  /** Starts the processes, and waits until all have loaded the module. */
  static async start(size: number, options: SessionOptions, url: string): Promise<Herd> {
    const herd = new Herd(Array.from({ length: size }, () => new Worker(options, url)));
    await Promise.all(herd.#workers.map((each) => each.read()));
    return herd;
  }

  /** One call of each process, all at once. Waits for the last response. */
  async rush(meeting: Meeting): Promise<void> {
    await Promise.all(this.#workers.map((each) => each.order(meeting)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((each) => each.close()));
  }
}

class Worker {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;

  constructor(options: SessionOptions, url: string) {
    const script = pathOf("herd_worker.ts");
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "-A", script, JSON.stringify(options), url],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async order(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
    await this.read();
  }

  /** Waits for a line. */
  async read(): Promise<void> {
    const { done } = await this.#output.read();
    if (done) throw new Error("a process of the herd ended early");
  }

  async close(): Promise<void> {
    await this.#input.close();
    await this.#output.cancel();
    await this.#child.status;
  }
}
