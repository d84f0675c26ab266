import { environment } from "../../platform/environment.ts";
import { VARIABLES } from "../../settings/options.ts";
import { Secret } from "../../platform/secret.ts";

/** How a command ended. */
export type Ended =
  | { readonly kind: "done"; readonly output: Secret }
  /** `errors`: the end of what it said on standard error. */
  | {
    readonly kind: "failed";
    readonly status: number;
    readonly output: Secret;
    readonly errors: string;
  }
  /**
   * `long`: it printed more than any token has, and was stopped. `nested`: it seems to run itself, and
   * was not run.
   */
  | { readonly kind: "absent" | "late" | "long" | "nested" };

/**
 * Counts the token commands around this process. The profile of a login shell may set the command
 * again, so an empty one does not end a circle. `LC_`: of all variables `ssh` passes only these on, where
 * it is set up as most systems do.
 */
const DEPTH_VARIABLE = "LC_AUTH_TOKEN_COMMAND_DEPTH";
/** A command may lead over two machines to a third that has a command of its own. */
const MAX_DEPTH = 3;

const MOST_OUTPUT = 262_144;
const MOST_ERRORS = 8_192;
/** What a program said last arrives by then. What it left running may keep the pipe open for ever. */
const LAST_WORDS_MS = 1_000;

/**
 * Runs a program without a shell and without input.
 *
 * @param limitMs After that it is killed.
 * @param signal Kills it, too; its reason is thrown.
 */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  limitMs: number,
  signal?: AbortSignal,
): Promise<Ended> {
  signal?.throwIfAborted();
  const depth = Number(/^\d+$/.exec(environment(DEPTH_VARIABLE) ?? "")?.[0] ?? 0);
  if (depth >= MAX_DEPTH) return { kind: "nested" };
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args,
      // A platform-auth that is run on this machine must not run the command again.
      env: { [VARIABLES.tokenCommand]: "", [DEPTH_VARIABLE]: `${depth + 1}` },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return { kind: "absent" };
  }
  const over = Promise.withResolvers<"late" | "long" | "stopped">();
  const output = new Tail(child.stdout, MOST_OUTPUT, () => over.resolve("long"));
  const errors = new Tail(child.stderr, MOST_ERRORS);
  const stop = () => over.resolve("stopped");
  const timer = setTimeout(() => over.resolve("late"), limitMs);
  signal?.addEventListener("abort", stop);
  try {
    const status = await Promise.race([child.status, over.promise]);
    if (typeof status === "object") {
      await settled(status.success ? output.done : Promise.all([output.done, errors.done]));
    }
    signal?.throwIfAborted();
    if (output.isFull) return { kind: "long" };
    if (typeof status === "string") return { kind: "late" };
    const printed = new Secret(output.text);
    return status.success
      ? { kind: "done", output: printed }
      : { kind: "failed", status: status.code, output: printed, errors: errors.text };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    kill(child);
    await Promise.all([output.cancel(), errors.cancel(), child.status]);
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended.
  }
}

async function settled(promise: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, LAST_WORDS_MS);
  await Promise.race([promise, late.promise]);
  clearTimeout(timer);
}

/** The last part of what a program prints, kept while the rest is read and dropped. */
class Tail {
  /** Resolves at the end of the stream. */
  readonly done: Promise<void>;
  #kept = new Uint8Array();
  #length = 0;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  /** @param full Called when there is more than is kept. */
  constructor(stream: ReadableStream<Uint8Array>, readonly most: number, full?: () => void) {
    this.#reader = stream.getReader();
    this.done = this.#read(full);
  }

  get text(): string {
    return new TextDecoder().decode(this.#kept);
  }

  /** Whether there was more than is kept. */
  get isFull(): boolean {
    return this.#length > this.most;
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    await this.done;
  }

  async #read(full: (() => void) | undefined): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) return;
        const all = new Uint8Array(this.#kept.length + value.length);
        all.set(this.#kept);
        all.set(value, this.#kept.length);
        this.#kept = all.slice(-this.most);
        this.#length += value.length;
        if (this.isFull) full?.();
      }
    } catch {
      // What was read before the pipe broke is all there is.
    }
  }
}
