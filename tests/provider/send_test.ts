import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createSession, ProviderError } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { testSession } from "../support/portless.ts";
import { answerTo, type Canned } from "../support/canned_fetch.ts";
import {
  brokenConnection,
  errorAnswer,
  jwt,
  refusedConnection,
  tokenAnswer,
  TOKENS,
} from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { publicSession, SETTINGS } from "../support/canned_session.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { startFaultProxy } from "../support/fault_proxy.ts";
import { rawAnswer, startTcpCapture } from "../support/tcp_capture.ts";

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

const repeated: [string, Canned, string][] = [
  ["429", status(429), "THROTTLED"],
  ["500", status(500), "SERVER_ERROR"],
  ["503", status(503), "SERVER_ERROR"],
  ["TooManyRequestsException at 400", errorAnswer("TooManyRequestsException", "slow"), "THROTTLED"],
  ["ThrottlingException at 400", errorAnswer("ThrottlingException", "slow"), "THROTTLED"],
  ["InternalErrorException at 400", errorAnswer("InternalErrorException", "oh"), "SERVER_ERROR"],
  ["a refused connection", refusedConnection, "UNREACHABLE"],
];
for (const [what, answer, code] of repeated) {
  Deno.test(`login and refresh are repeated after ${what}, and give up in the end`, async () => {
    const login = publicSession({}, answer);
    const refused = await failureOf(login.session.login());
    assertEquals([refused.code, refused.attempts], [code, 4]);
    assertEquals([login.asked.length, login.time.pauses.length], [4, 3]);
    assertMatch(refused.message, /after 4 attempts/);

    const passing = publicSession({}, answer, answer, tokenAnswer(), answer);
    assertEquals((await passing.session.login()).state, "valid");
    assertEquals(new Set(passing.asked.map(({ body }) => body)).size, 1);
    const failed = await failureOf(passing.session.refresh());
    assertEquals([failed.code, failed.attempts, passing.asked.length], [code, 4, 7]);
    assertEquals(passing.session.status().canRefresh, true);
  });
}

const once: [string, Canned, string][] = [
  ["a rejected password", errorAnswer("NotAuthorizedException", "no"), "INVALID_CREDENTIALS"],
  ["a lock", errorAnswer("NotAuthorizedException", "Password attempts exceeded"), "LOCKED_OUT"],
  ["LimitExceededException", errorAnswer("LimitExceededException", "limit"), "THROTTLED"],
  ["LimitExceededException at 429", errorAnswer("LimitExceededException", "", 429), "THROTTLED"],
  ["another refusal", errorAnswer("ForbiddenException", "no", 403), "BLOCKED"],
  ["an odd answer", () => new Response("<html>"), "UNEXPECTED_RESPONSE"],
  ["a broken connection", brokenConnection, "UNREACHABLE"],
  ["an error that nobody knows", () => {
    throw new TypeError("something else");
  }, "UNREACHABLE"],
];
for (const [what, answer, code] of once) {
  Deno.test(`a password is not sent again after ${what}`, async () => {
    const { session, asked, time } = publicSession({}, answer, tokenAnswer());
    const error = await failureOf(session.login());
    assertEquals([error.code, error.attempts, asked.length], [code, 1, 1]);
    assertEquals(time.pauses, []);
  });
}

Deno.test("a refresh is sent again after a broken connection", async () => {
  const { session, asked } = publicSession({}, tokenAnswer(), brokenConnection, tokenAnswer());
  await session.login();
  assertEquals((await session.refresh()).source, "refresh");
  assertEquals(asked.length, 3);
});

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

const silent: [string, Canned][] = [
  ["no answer comes", never],
  ["an answer does not end", () => new Response(new ReadableStream())],
];
for (const [what, answer] of silent) {
  Deno.test(`login ends with TIMEOUT when ${what}, and sends the password once`, async () => {
    using timeouts = heldTimeouts();
    // The clocks stand still, so there would be time for another attempt.
    const { session, asked } = publicSession({ timeoutMs: 10_000 }, late(10_000, answer, timeouts));
    const error = await failureOf(session.login());
    assertEquals([error.code, error.attempts, asked.length], ["TIMEOUT", 1, 1]);
    assertMatch(error.message, /AUTH_TIMEOUT_MS/);
  });
}

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

Deno.test("a response without a Date does not reveal a wrong clock", async () => {
  for (const date of [undefined, "", "soon", "NaN"]) {
    const headers = date === undefined ? {} : { date };
    const { session } = publicSession({}, tokenAnswer(TOKENS, headers));
    const { warnings } = await session.login();
    assertEquals(warnings, []);
    // A portal token is judged by the clock that was learned.
    const token = jwt({ exp: new Clock().now() / 1_000 + 60 });
    const status = await session.login({ portalToken: token });
    assertEquals(status.accessTokenExpiresAt?.getTime(), new Clock().now() + 60_000, date);
  }
});

Deno.test("if the attempt to refresh with rotation fails, that failure is reported", async () => {
  const flow = errorAnswer("InvalidParameterException", "REFRESH_TOKEN_AUTH flow not enabled");
  const busy = publicSession({}, tokenAnswer(), flow, status(503));
  await busy.session.login();
  assertEquals((await failureOf(busy.session.refresh())).code, "SERVER_ERROR");
  const unknown = publicSession({}, tokenAnswer(), flow, errorAnswer("UnknownOperation", "no"));
  await unknown.session.login();
  const error = await failureOf(unknown.session.refresh());
  assertEquals([error.code, error.attempts], ["FLOW_DISABLED", 2]);
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

Deno.test("a redirect of the provider takes neither password nor refresh token elsewhere", async () => {
  const tokens = JSON.stringify({
    AuthenticationResult: { AccessToken: "a", RefreshToken: "r", ExpiresIn: 1_800 },
  });
  for (const code of [301, 302, 303, 307, 308]) {
    await using elsewhere = startTcpCapture([rawAnswer(200, tokens)]);
    const redirect = rawAnswer(code, tokens, { location: elsewhere.url });
    await using provider = startTcpCapture([redirect, rawAnswer(200, tokens), redirect]);
    const session = createSession({ ...SETTINGS, authUrl: provider.url });
    const login = await failureOf(session.login());
    await session.login();
    for (const error of [login, await failureOf(session.refresh())]) {
      assertEquals([error.code, error.status], ["UNEXPECTED_RESPONSE", code]);
      assertMatch(error.message, new RegExp(`status ${code}, a redirect`));
    }
    assertEquals([provider.requests.length, elsewhere.requests.length], [3, 0]);
    assertEquals([session.status().state, session.status().canRefresh], ["valid", true]);
  }
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
