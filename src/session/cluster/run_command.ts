import { VARIABLES } from "../../settings/settings.ts";
import { Secret } from "../../values/secret.ts";

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
  | { readonly kind: "absent" | "late" };

/** Longer than any token; what comes after it is not read. */
const MOST_OUTPUT = 262_144;
const MOST_ERRORS = 8_192;
/** What a program said last arrives by then. What it left running may keep the pipe open for ever. */
const LAST_WORDS_MS = 200;

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
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args,
      // A platform-auth that is run on this machine must not run the command again.
      env: { [VARIABLES.tokenCommand]: "" },
      ...{ stdin: "null", stdout: "piped", stderr: "piped" },
    }).spawn();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return { kind: "absent" };
  }
  const output = new Tail(child.stdout, MOST_OUTPUT);
  const errors = new Tail(child.stderr, MOST_ERRORS);
  const over = Promise.withResolvers<"over">();
  const end = () => over.resolve("over");
  const timer = setTimeout(end, limitMs);
  signal?.addEventListener("abort", end);
  try {
    const ended = await Promise.race([Promise.all([child.status, output.done]), over.promise]);
    signal?.throwIfAborted();
    if (ended === "over") return { kind: "late" };
    const [{ code, success }] = ended;
    if (success) return { kind: "done", output: new Secret(output.text) };
    await settled(errors.done, LAST_WORDS_MS);
    return { kind: "failed", status: code, output: new Secret(output.text), errors: errors.text };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
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

async function settled(promise: Promise<void>, limitMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, limitMs);
  await Promise.race([promise, late.promise]);
  clearTimeout(timer);
}

/** The last part of what a program prints, kept while the rest is read and dropped. */
class Tail {
  /** Resolves at the end of the stream. */
  readonly done: Promise<void>;
  #kept = new Uint8Array();
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array>, readonly most: number) {
    this.#reader = stream.getReader();
    this.done = this.#read();
  }

  get text(): string {
    return new TextDecoder().decode(this.#kept);
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    await this.done;
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) return;
        const all = new Uint8Array(this.#kept.length + value.length);
        all.set(this.#kept);
        all.set(value, this.#kept.length);
        this.#kept = all.slice(-this.most);
      }
    } catch {
      // What was read before the pipe broke is all there is.
    }
  }
}
