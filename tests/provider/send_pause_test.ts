import { assert, assertEquals, assertRejects } from "@std/assert";
import { ProviderError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { tokenAnswer } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { publicSession } from "../support/canned_session.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  return await assertRejects(() => work, ProviderError);
}

const status = (code: number, headers: Record<string, string> = {}): Canned => () =>
  new Response("", { status: code, headers });

Deno.test("pauses grow, and differ from one client to the next", async () => {
  const firsts = new Set<number>();
  for (let client = 0; client < 5; client++) {
    const { session, time } = publicSession({}, status(500));
    await failureOf(session.login());
    const [first = 0, second = 0, third = 0] = time.pauses;
    assert(0 < first && first <= second && second <= third && third <= 8_000, `${time.pauses}`);
    firsts.add(first);
  }
  assert(firsts.size > 1, "clients that start together would meet again and again");
});

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

const NOW = new Clock().now();
const httpDate = (ms: number) => new Date(ms).toUTCString();
const waits: [string, Record<string, string>][] = [
  ["in seconds", { "retry-after": "7" }],
  ["as a date", { "retry-after": httpDate(NOW + 7_000) }],
  ["as a date of a clock that is an hour ahead", {
    "retry-after": httpDate(NOW + 3_607_000),
    date: httpDate(NOW + 3_600_000),
  }],
  ["as a date of a clock that is an hour behind", {
    "retry-after": httpDate(NOW - 3_593_000),
    date: httpDate(NOW - 3_600_000),
  }],
];
for (const [form, headers] of waits) {
  Deno.test(`Retry-After ${form} is honored`, async () => {
    for (const answer of [status(429, headers), status(503, headers)]) {
      const { session, asked, time } = publicSession({}, answer, tokenAnswer());
      await session.login();
      const [pause = 0] = time.pauses;
      assertEquals([asked.length, time.pauses.length], [2, 1]);
      assert(7_000 <= pause && pause < 8_000, `${pause} ms`);
    }
  });
}

Deno.test("Retry-After in no known form is passed over", async () => {
  for (const text of ["soon", "-", "7 seconds", "NaN"]) {
    const { session, asked } = publicSession(
      {},
      status(429, { "retry-after": text }),
      tokenAnswer(),
    );
    await session.login();
    assertEquals(asked.length, 2, text);
  }
});

Deno.test("retries stay inside the deadline", async () => {
  using _ = heldTimeouts();
  for (const timeoutMs of [100, 1_000, 2_000, 5_000]) {
    const { session, asked, time } = publicSession({ timeoutMs }, async () => {
      await time.sleep(400);
      time.pauses.pop();
      return new Response("", { status: 429 });
    });
    assertEquals((await failureOf(session.login())).code, "THROTTLED");
    const waited = time.pauses.reduce((sum, pause) => sum + pause, 0);
    assert(waited < timeoutMs, `${waited} ms of ${timeoutMs}`);
    assert(asked.length >= 1 && asked.length <= 4);
    if (timeoutMs === 100) assertEquals(asked.length, 1);
  }
});
