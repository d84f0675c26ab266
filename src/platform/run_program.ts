import { onAbort } from "./abort.ts";
import { readUpTo } from "./body.ts";

/** The result of running a program. */
export type Ended =
  | { readonly kind: "done"; readonly status: number; output: string; errors: string }
  /**
   * `absent`: the program was not found or is not executable. `late`: it exceeded the time limit
   * and was killed. `long`: it printed more than {@linkcode MAX_OUTPUT} and was killed.
   */
  | { readonly kind: "absent" | "late" | "long" };

/** Maximum output of a program on each of its two streams, in bytes. */
export const MAX_OUTPUT = 262_144;

/**
 * Time limit for the rest of the output after the program has ended. Without a limit, a background
 * process of the program could keep the pipe open forever.
 */
const REST_OF_OUTPUT_MS = 1_000;

interface RunOptions extends Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv"> {
  /** Time after which the program is killed. */
  readonly limitMs: number;
  /** Kills the program when the signal aborts. The signal's reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a program without a shell and without input.
 *
 * @throws {Deno.errors.NotCapable} If the permission to run the program is missing.
 */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { limitMs, signal, ...options }: RunOptions,
): Promise<Ended> {
  signal?.throwIfAborted();
  let child: Deno.ChildProcess;
  try {
    const pipes = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
    child = new Deno.Command(program, { ...options, args, ...pipes }).spawn();
  } catch (error) {
    if (error instanceof TypeError || error instanceof Deno.errors.NotCapable) throw error;
    return { kind: "absent" };
  }
  const closed = Promise.withResolvers<ReadableStreamReadResult<Uint8Array>>();
  const close = () => closed.resolve({ done: true });
  let stopped: "late" | "long" | "aborted" | undefined;
  const stop = (why: NonNullable<typeof stopped>) => {
    stopped ??= why;
    kill(child);
    close();
  };
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const piece = (next: Promise<ReadableStreamReadResult<Uint8Array>>) =>
      Promise.race([next, closed.promise]);
    const { bytes, isWhole } = await readUpTo(stream, MAX_OUTPUT, piece);
    if (!isWhole) stop("long");
    return new TextDecoder().decode(bytes);
  };
  const timers = [setTimeout(() => stop("late"), limitMs)];
  const stopListening = onAbort(signal, () => stop("aborted"));
  try {
    const [printed, complained] = [read(child.stdout), read(child.stderr)];
    const { code } = await child.status;
    timers.push(setTimeout(close, REST_OF_OUTPUT_MS));
    const output = await printed;
    // If ssh leaves a connection open, the error output stays open too. After a success nobody
    // needs the error output, so the rest is not read.
    if (code === 0) close();
    const errors = await complained;
    if (stopped === "aborted") signal?.throwIfAborted();
    return stopped === "late" || stopped === "long"
      ? { kind: stopped }
      : { kind: "done", status: code, output, errors };
  } finally {
    timers.forEach(clearTimeout);
    stopListening();
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // The program has already ended.
  }
}
