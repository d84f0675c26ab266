/**
 * One of the processes of a stampede. Reads lines `valid <calls>` and `expired <calls>`, makes that many
 * calls at once, and answers with the milliseconds until the last one was answered. Before `expired`
 * its monotonic clock jumps, so that the token it holds has ended.
 */
import { createSession } from "../mod.ts";

const [envFile = "", url = ""] = Deno.args;
let jump = 0;
const session = createSession({ envFile, monotonic: () => performance.now() + jump });
session.status();
console.log("{}");

for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  // The other side waits for each answer, so a chunk is a line.
  const [kind, calls] = chunk.trim().split(" ");
  if (kind === "expired") jump += 7_200_000;
  const started = performance.now();
  await Promise.all(Array.from({ length: Number(calls) }, async () => {
    const response = await session.authFetch(url);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    await response.arrayBuffer();
  }));
  console.log(performance.now() - started);
}
