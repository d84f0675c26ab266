import { assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { AuthError, createSession, ProviderError, type Session } from "../../mod.ts";
import { type Failure, type SandboxOptions, startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { Clock } from "../support/clock.ts";
import { type Fault, startFaultProxy } from "./fault_proxy.ts";
import { REFUSING } from "../support/free_port.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { until } from "../support/until.ts";
import "../support/quick_signatures.ts";

/**
 * The outcome of an operation: a state or a code, and the number of requests, or of attempts if
 * none arrived.
 */
type Seen = readonly [outcome: string, requests: number];

const ALONE: Seen = ["UNREACHABLE", 1];
const REPEATED: Seen = ["UNREACHABLE", 4];
const SECOND: Seen = ["valid", 2];
const LATE: Seen = ["TIMEOUT", 1];
const PAGE: Seen = ["UNEXPECTED_RESPONSE", 1];

interface FaultCase {
  readonly name: string;
  readonly login: Seen;
  /** The outcome of a refresh, if it differs from that of a login. */
  readonly refresh?: Seen;
  /** Faults of the connection, one for each request. */
  readonly faults?: Fault[];
  /** A response of the provider instead of tokens. */
  readonly answer?: Omit<Failure, "at">;
  /** The address, if it differs; no request arrives there. */
  readonly url?: (authUrl: string) => string;
  /** Only the deadline ends the request. It is counted here when nothing more happens until then. */
  readonly waitsAfter?: "requests" | "judged";
  readonly sandbox?: SandboxOptions;
}

const always = (fault: Fault): Fault[] => Array.from({ length: 20 }, () => fault);
const later = (wait: string) => ({ "retry-after": wait });
const page = {
  headers: { "content-type": "text/html", location: "/login" },
  body: "<!doctype html><title>Blocked</title><p>Ask your administrator.",
};
const rotating = (graceSeconds: number) => ({ rotateRefreshTokens: true, graceSeconds } as const);

// The provider may have checked the password, so login() does not send it again.
const CASES: readonly FaultCase[] = [
  { name: "connection refused", login: REPEATED, url: () => REFUSING },
  {
    name: "a server without TLS at an https: address",
    login: ALONE,
    url: (authUrl) => authUrl.replace("http:", "https:"),
  },

  {
    name: "connection reset before the request is read",
    login: ALONE,
    refresh: REPEATED,
    faults: always("resetBefore"),
  },
  { name: "response lost once", login: ALONE, refresh: SECOND, faults: ["resetAfterRequest"] },
  {
    name: "rotated token lost with the response, grace period",
    login: ALONE,
    refresh: SECOND,
    faults: ["resetAfterRequest"],
    sandbox: rotating(60),
  },
  {
    name: "rotated token lost with the response, no grace period",
    login: ALONE,
    refresh: ["REFRESH_REJECTED", 2],
    faults: ["resetAfterRequest"],
    sandbox: rotating(0),
  },
  {
    name: "connection closed during the response",
    login: ALONE,
    refresh: REPEATED,
    faults: always("closeMidAnswer"),
  },
  { name: "request never read", login: LATE, faults: always("never"), waitsAfter: "requests" },
  {
    name: "response byte by byte, without end",
    login: LATE,
    faults: always("drip"),
    waitsAfter: "judged",
  },

  {
    name: "429 once, Retry-After: 2",
    login: SECOND,
    answer: { status: 429, headers: later("2"), times: 1 },
  },
  {
    name: "429, Retry-After: 600",
    login: ["THROTTLED", 1],
    answer: { status: 429, headers: later("600") },
  },
  {
    name: "503 once, Retry-After as a date",
    login: SECOND,
    answer: { status: 503, headers: later(new Date(Date.now() + 10_000).toUTCString()), times: 1 },
  },
  { name: "503 each time", login: ["SERVER_ERROR", 4], answer: { status: 503 } },
  {
    name: "a company proxy's page with status 200",
    login: PAGE,
    answer: { status: 200, ...page },
  },
  { name: "a captive portal's redirect", login: PAGE, answer: { status: 302, ...page } },
];

/** In milliseconds. Pauses take no time here, so only a missing response reaches the deadline. */
const DEADLINE_MS = 30_000;

/** Logs in, then lets the session meet a fault. @returns What was seen, and whether tokens are left. */
async function meet(
  { name, faults = [], answer, url, waitsAfter, sandbox: options }: FaultCase,
  work: (session: Session) => Promise<unknown>,
): Promise<[seen: Seen, state: string, canRefresh: boolean]> {
  await using sandbox = await startSandbox(options);
  await using proxy = await startFaultProxy(sandbox.authUrl);
  return await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    const clock = new Clock();
    const { monotonic, sleep } = clock;
    const settings = { ...sandbox.settings, envFile, monotonic, sleep };
    await createSession({ ...settings, authUrl: proxy.url }).login();
    // Without AUTH_SESSION, the session accepts the tokens at another address of the provider.
    const saved = await Deno.readTextFile(envFile);
    await Deno.writeTextFile(envFile, saved.replace(/^AUTH_SESSION=.*\n/m, ""));

    const before = { ...proxy.counts };
    proxy.plan(faults);
    if (answer) sandbox.failures.push({ at: "token", ...answer });
    const authUrl = url?.(sandbox.authUrl) ?? proxy.url;
    const session = createSession({ ...settings, authUrl, timeoutMs: DEADLINE_MS });
    using timeouts = heldTimeouts();
    const working = work(session).then(() => undefined, (error) => error);
    if (waitsAfter) {
      await Promise.race([working, until(() => proxy.counts[waitsAfter] > before[waitsAfter])]);
      clock.advance(DEADLINE_MS / 1_000);
      timeouts.pass(DEADLINE_MS);
      // A response that arrives just after the limit is still read.
      timeouts.pass(100);
    }
    const error = await working;
    let attempts = 0;
    if (error !== undefined) {
      assertInstanceOf(error, AuthError);
      assertMatch(error.message, /^Cannot (log in|refresh the session): .*; .+$/);
      if (name.includes("redirect")) assertMatch(error.message, /status 302, a redirect/);
      if (error instanceof ProviderError) attempts = error.attempts;
    }
    const requests = proxy.counts.requests - before.requests;
    if (requests > 0 && attempts > 0) assertEquals(attempts, requests, "the error's attempts");
    const { state, canRefresh } = session.status();
    // The next process reads the same state from the file.
    assertEquals(createSession({ ...settings, authUrl }).status().canRefresh, canRefresh);
    return [[error?.code ?? "valid", requests || attempts], state, canRefresh];
  });
}

for (const each of CASES) {
  const { name, login, refresh = login } = each;
  Deno.test(`login() and refresh() have the expected outcome (fault: ${name})`, async () => {
    const afterLogin = await meet(each, (session) => session.login({ force: true }));
    assertEquals(afterLogin, [login, "valid", true], "login");
    const afterRefresh = await meet(each, (session) => session.refresh());
    const isKept = refresh[0] !== "REFRESH_REJECTED";
    assertEquals(afterRefresh, [refresh, "valid", isKept], "refresh");
  });
}
