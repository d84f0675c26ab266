/**
 * One of the processes of a herd. For each line `valid` or `expired` it makes a call, and prints a
 * line after the response. Before `expired`, its monotonic clock jumps, so that its token has
 * expired.
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
  if (chunk.trim() === "expired") jump += 7_200_000;
  const response = await session.authFetch(url);
  if (!response.ok) throw new Error(`the server responded with ${response.status}`);
  await response.arrayBuffer();
  console.log("done");
}
