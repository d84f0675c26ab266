import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createSession, ProviderError } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { testSession } from "../support/portless.ts";
import { answerTo, type Canned } from "../support/canned_fetch.ts";
import { tokenAnswer } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { publicSession, SETTINGS } from "../support/canned_session.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { startFaultProxy } from "../support/fault_proxy.ts";

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  return await assertRejects(() => work, ProviderError);
}

const never: Canned = () => new Promise(() => {});
/** A response that arrives after the given share of the attempt's time. */
function late(ms: number, answer: Canned, timeouts: HeldTimeouts): Canned {
  return async (asked) => {
    // First the client sees that the request is on its way.
    await Promise.resolve();
    timeouts.pass(ms);
    // A response that arrives just after the limit is still read.
    timeouts.pass(100);
    return await answerTo(asked, answer);
  };
}

const status = (code: number, headers: Record<string, string> = {}): Canned => () =>
  new Response("", { status: code, headers });

Deno.test("an untrusted connection is not tried again, and the error says why", async () => {
  const untrusted: Canned = () => {
    throw new TypeError("error sending request for url (https://provider.example/)", {
      cause: new Error("client error (Connect): invalid peer certificate: UnknownIssuer"),
    });
  };
  const { session, asked } = publicSession({}, untrusted);
  const error = await failureOf(session.login());
  assertEquals([error.code, asked.length], ["UNREACHABLE", 1]);
  assertMatch(error.message, /no trusted TLS connection/);
  assertMatch(error.fix, /DENO_TLS_CA_STORE=mozilla,system before Deno starts .*kernel\.json/);
});

Deno.test("a login whose response arrives at 0.8 of the deadline succeeds", async () => {
  using timeouts = heldTimeouts();
  const answer = late(8_000, tokenAnswer(), timeouts);
  const { session, asked } = publicSession({ timeoutMs: 10_000 }, answer);
  assertEquals((await session.login()).state, "valid");
  assertEquals(asked.length, 1);
});

Deno.test("an attempt to refresh ends at 0.6 of the deadline, and another follows", async () => {
  using timeouts = heldTimeouts();
  const { session, asked } = publicSession(
    { timeoutMs: 10_000 },
    ...[tokenAnswer(), late(5_899, tokenAnswer(), timeouts)] as const,
    ...[late(6_000, never, timeouts), late(5_899, tokenAnswer(), timeouts)] as const,
  );
  await session.login();
  assertEquals((await session.refresh()).source, "refresh");
  assertEquals(asked.length, 2, "an answer before 0.6 is waited for");
  assertEquals((await session.refresh()).source, "refresh");
  assertEquals(asked.length, 4, "a request without an answer by then is repeated");
});

Deno.test("login ends when its signal aborts, in flight and in a pause", async () => {
  const reason = new Error("the user left");
  const flying = new AbortController();
  const inFlight = publicSession({}, () => {
    flying.abort(reason);
    return new Promise<never>(() => {});
  });
  const left = await assertRejects(() => inFlight.session.login({ signal: flying.signal }));
  assertEquals([left, inFlight.asked.length], [reason, 1]);

  const pausing = new AbortController();
  const paused = publicSession({
    sleep: () => {
      pausing.abort(reason);
      return Promise.resolve();
    },
  }, status(500));
  assertEquals(await assertRejects(() => paused.session.login({ signal: pausing.signal })), reason);
  assertEquals([paused.asked.length, paused.session.status().state], [1, "none"]);
});

Deno.test("an aborted login ends its request", async () => {
  const leaving = new AbortController();
  let sent: AbortSignal | null | undefined;
  const fetch: typeof globalThis.fetch = (_input, init) => {
    sent = init?.signal;
    queueMicrotask(() => leaving.abort());
    return new Promise(() => {});
  };
  const session = testSession({
    ...SETTINGS,
    fetch,
    timeout: () => new AbortController().signal,
  });
  await assertRejects(() => session.login({ signal: leaving.signal }));
  assertEquals(sent?.aborted, true);
});

Deno.test("a connection that was used before and drops gets the password once", async () => {
  await using sandbox = await startSandbox();
  const target = { hostname: "127.0.0.1", port: Number(new URL(sandbox.authUrl).port) };
  await using proxy = await startFaultProxy({ target, keepAlive: true });
  const { sleep } = new Clock();
  const { envFile: _, ...settings } = sandbox.settings;
  const session = createSession({ ...settings, authUrl: proxy.url, sleep });
  await session.login();
  for (const fault of ["resetAfterRequest", "closeAfterRequest", "closeMidAnswer"] as const) {
    const before = { ...proxy.counts };
    proxy.plan(fault);
    const error = await failureOf(session.login({ force: true }));
    assertEquals([error.code, error.attempts], ["UNREACHABLE", 1], fault);
    assertEquals(proxy.counts.requests - before.requests, 1, fault);
    assertEquals(proxy.counts.judged - before.judged, 1, fault);
    assertEquals(session.status().state, "valid", "the session that was there stays");
  }
});
