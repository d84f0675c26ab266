import { assert, assertEquals, assertRejects } from "@std/assert";
import { ProviderError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { publicSession } from "../support/canned_session.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  return await assertRejects(() => work, ProviderError);
}

const status = (code: number, headers: Record<string, string> = {}): Canned => () =>
  new Response("", { status: code, headers });

/** The longest pauses, in milliseconds; at random, one can be half as long. */
const longest: [string, number, number[]][] = [
  ["a failure of the server costs a fraction of a second", 500, [200, 400, 800]],
  ["throttling is given more time than a failure of the server", 429, [1_000, 2_000, 4_000]],
];
for (const [what, code, limits] of longest) {
  Deno.test(what, async () => {
    const { session, time } = publicSession({}, status(code));
    await failureOf(session.login());
    assertEquals(time.pauses.length, limits.length);
    for (const [at, limit] of limits.entries()) {
      const pause = time.pauses[at] ?? 0;
      assert(limit / 2 <= pause && pause <= limit, `pause ${at + 1} is ${pause} ms`);
    }
  });
}

Deno.test("retries stay inside the deadline", async () => {
  using _ = heldTimeouts();
  for (const timeoutMs of [100, 2_000]) {
    const { session, asked, time } = publicSession({ timeoutMs }, async () => {
      await time.sleep(400);
      time.pauses.pop();
      return new Response("", { status: 429 });
    });
    assertEquals((await failureOf(session.login())).code, "THROTTLED");
    const waited = time.pauses.reduce((sum, pause) => sum + pause, 0);
    assert(waited < timeoutMs, `${waited} ms of ${timeoutMs}`);
    assertEquals(asked.length > 1, timeoutMs > 100);
  }
});
