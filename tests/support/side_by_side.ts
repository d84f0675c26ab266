/**
 * Runs tasks at a time, those of one argument one after another: `side_by_side.ts a b,c,d`. What they print
 * is shown task after task, as if they ran like that.
 *
 * The core of the tests computes while the other parts wait, for a kernel or a page. Many tests have
 * time limits, which two busy cores can exceed: a task that fails runs once more, alone, and that result
 * is the one that matters. Both are shown.
 */
import { fileURLToPath } from "node:url";

/** What a task prints is held until its turn to be shown. */
class Output {
  #held: Uint8Array[] | undefined = [];

  write(bytes: Uint8Array): void {
    if (this.#held) this.#held.push(bytes);
    else writeAll(bytes);
  }

  show(): void {
    this.#held?.forEach(writeAll);
    this.#held = undefined;
  }
}

function writeAll(bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}

interface Result {
  readonly task: string;
  readonly success: boolean;
  readonly seconds: number;
}

async function run(task: string, output: Output): Promise<Result> {
  const started = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", task],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const pass = async (stream: ReadableStream<Uint8Array>) => {
    for await (const bytes of stream) output.write(bytes);
  };
  await Promise.all([pass(child.stdout), pass(child.stderr)]);
  const { success } = await child.status;
  return { task, success, seconds: Math.round((performance.now() - started) / 1_000) };
}

const running = Deno.args.map((line) => {
  let before: Promise<unknown> = Promise.resolve();
  return line.split(",").map((task) => {
    const output = new Output();
    const result = before.then(() => run(task, output));
    before = result;
    return { task, output, result };
  });
}).flat();

const results: Result[] = [];
for (const { task, output, result } of running) {
  console.log(`== ${task}`);
  output.show();
  results.push(await result);
}

for (const [index, { task, success }] of results.entries()) {
  if (success) continue;
  console.log(`== ${task}, once more, alone`);
  const output = new Output();
  output.show();
  results[index] = await run(task, output);
}

console.log("== all");
for (const { task, success, seconds } of results) {
  console.log(`${success ? "ok    " : "FAILED"} ${task}, ${seconds} s`);
}
if (results.some(({ success }) => !success)) Deno.exit(1);
