/**
 * Runs tasks at a time, those of one argument one after another: `side_by_side.ts a b,c,d`. What they print
 * is shown task after task, as if they ran one after another.
 *
 * The core of the tests computes while the other parts wait, for a kernel or a page. Many tests have
 * time limits, which two busy cores can exceed: a task that fails runs once more, alone, and that result
 * is the one that matters. Both are shown.
 */
import { fileURLToPath } from "node:url";

interface Result {
  readonly task: string;
  readonly success: boolean;
  readonly seconds: number;
  readonly printed: string;
}

/** @param isShown Whether what the task prints is shown at once. */
async function run(task: string, isShown: boolean): Promise<Result> {
  const started = performance.now();
  const output = isShown ? "inherit" : "piped";
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", task],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stdout: output,
    stderr: output,
  }).spawn();
  const texts = isShown ? [] : await Promise.all([
    ...[new Response(child.stdout).text(), new Response(child.stderr).text()],
  ]);
  const { success } = await child.status;
  const seconds = Math.round((performance.now() - started) / 1_000);
  return { task, success, seconds, printed: texts.join("") };
}

const lines = Deno.args.map((line) => line.split(","));
console.log(`== ${lines[0]?.[0]}`);
const running = lines.flatMap((tasks, line) => {
  let before: Promise<unknown> = Promise.resolve();
  return tasks.map((task, nth) => {
    const result = before.then(() => run(task, line + nth === 0));
    before = result;
    return result;
  });
});

const results: Result[] = [];
for (const each of running) {
  const result = await each;
  if (results.length > 0) console.log(`== ${result.task}\n${result.printed}`);
  results.push(result);
}

for (const [index, { task, success }] of results.entries()) {
  if (success) continue;
  const again = await run(task, false);
  console.log(`== ${task}, once more, alone\n${again.printed}`);
  results[index] = again;
}

console.log("== all");
for (const { task, success, seconds } of results) {
  console.log(`${success ? "ok    " : "FAILED"} ${task}, ${seconds} s`);
}
if (results.some(({ success }) => !success)) Deno.exit(1);
