import { assert, assertEquals, assertRejects } from "@std/assert";
import { createSession, ProviderError } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { type Canned, cannedSession } from "../support/canned_fetch.ts";
import { tokenAnswer } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { startFaultProxy } from "./fault_proxy.ts";

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  return await assertRejects(() => work, ProviderError);
}

const never = () => new Promise<Response>(() => {});

/** A response that arrives after this time. */
function late(
  ms: number,
  answer: () => Promise<Response> | Response,
  timeouts: HeldTimeouts,
): Canned {
  return async () => {
    // Yields first, so that the client already waits for the response.
    await Promise.resolve();
    timeouts.pass(ms);
    // A response that arrives just after the limit is still read.
    timeouts.pass(100);
    return await answer();
  };
}

Deno.test("login() waits for a response, but refresh() sends a second request after 60% of its time limit", async () => {
  using timeouts = heldTimeouts();
  const { session, asked } = cannedSession(
    { timeoutMs: 10_000 },
    late(8_000, tokenAnswer, timeouts),
    late(6_000, never, timeouts),
    late(5_899, tokenAnswer, timeouts),
  );
  await session.login();
  assertEquals((await session.refresh()).source, "refresh");
  assertEquals(asked.length, 3);
});

Deno.test("login() sends nothing more if it is aborted between two attempts", async () => {
  const reason = new Error("the user left");
  const leaving = new AbortController();
  const sleep = () => {
    leaving.abort(reason);
    return Promise.resolve();
  };
  const { session, asked } = cannedSession({ sleep }, new Response("", { status: 500 }));
  assertEquals(await assertRejects(() => session.login({ signal: leaving.signal })), reason);
  assertEquals([asked.length, session.status().state], [1, "none"]);
});

Deno.test("aborting login() aborts its request", async () => {
  using _ = heldTimeouts();
  const leaving = new AbortController();
  let sent: AbortSignal | null | undefined;
  const fetch: typeof globalThis.fetch = (_input, init) => {
    sent = init?.signal;
    queueMicrotask(() => leaving.abort());
    return new Promise(() => {});
  };
  const { session } = cannedSession({ fetch }, never);
  await assertRejects(() => session.login({ signal: leaving.signal }));
  assertEquals(sent?.aborted, true);
});

Deno.test("login() sends the password only once if a reused connection breaks", async () => {
  await using sandbox = await startSandbox();
  await using proxy = await startFaultProxy(sandbox.authUrl, true);
  const { sleep } = new Clock();
  const { envFile: _, ...settings } = sandbox.settings;
  const session = createSession({ ...settings, authUrl: proxy.url, sleep });
  await session.login();
  for (const fault of ["resetAfterRequest", "closeAfterRequest", "closeMidAnswer"] as const) {
    const before = { ...proxy.counts };
    proxy.plan([fault]);
    const error = await failureOf(session.login({ force: true }));
    assertEquals([error.code, error.attempts], ["UNREACHABLE", 1], fault);
    assertEquals(proxy.counts.requests - before.requests, 1, fault);
    assertEquals(proxy.counts.judged - before.judged, 1, fault);
    assertEquals(session.status().state, "valid", "the earlier session is kept");
  }
});

Deno.test("login() waits longer after each attempt, and stops before its time limit", async () => {
  using _ = heldTimeouts();
  const rows = [[30_000, [500, 1_000, 2_000]], [1_000, [500]]] as const;
  for (const [timeoutMs, limits] of rows) {
    const { session, time } = cannedSession({ timeoutMs }, () => {
      time.advance(0.4);
      return new Response("", { status: 429 });
    });
    assertEquals((await failureOf(session.login())).code, "THROTTLED");
    assertEquals(time.pauses.length, limits.length);
    // Each pause is random, and at least half as long as the longest.
    for (const [at, limit] of limits.entries()) {
      const pause = time.pauses[at] ?? 0;
      assert(limit / 2 <= pause && pause <= limit, `pause ${at + 1} is ${pause} ms`);
    }
  }
});
