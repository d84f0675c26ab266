/**
 * One of the processes of a herd. Reads lines `valid <calls>` and `expired <calls>`, makes that
 * many calls at once, and prints a line after the last response.
 * Before `expired`, its monotonic clock jumps, so that its token has expired.
 */
import { createSession } from "../mod.ts";

const [options = "{}", url = ""] = Deno.args;
let jump = 0;
const session = createSession({
  ...JSON.parse(options),
  monotonic: () => performance.now() + jump,
});
session.status();
console.log("ready");

for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  // The other side waits for each reply, so a chunk is a line.
  const [kind, calls] = chunk.trim().split(" ");
  if (kind === "expired") jump += 7_200_000;
  await Promise.all(Array.from({ length: Number(calls) }, async () => {
    const response = await session.authFetch(url);
    if (!response.ok) throw new Error(`the server responded with ${response.status}`);
    await response.arrayBuffer();
  }));
  console.log("done");
}
