import { assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { AuthError, createSession, ProviderError, type Session } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { Clock } from "../support/clock.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { until } from "../support/until.ts";
import { FAULT_CASES, type FaultCase, startFaultyProvider } from "./fault_cases.ts";

/**
 * The outcome of an operation: a state or a code, and the number of requests, or of attempts if
 * none arrived.
 */
type Seen = readonly [outcome: string, requests: number];

const ALONE: Seen = ["UNREACHABLE", 1];
const REPEATED: Seen = ["UNREACHABLE", 4];
const PAGE: Seen = ["UNEXPECTED_RESPONSE", 1];

/** The result of a login in each case, and of a refresh if it differs. */
const EXPECTED: Readonly<Record<string, readonly [login: Seen, refresh?: Seen]>> = {
  "connection refused": [REPEATED],
  // The provider may have checked the password, so login() does not send it again.
  "connection reset before the request is read": [ALONE, REPEATED],
  "connection reset once": [ALONE, ["valid", 2]],
  "response lost once": [ALONE, ["valid", 2]],
  "connection closed without a response": [ALONE, REPEATED],
  "connection closed during the response": [ALONE, REPEATED],
  "request never read": [["TIMEOUT", 1]],
  "request read, but no response": [["TIMEOUT", 1]],
  "response byte by byte, without end": [["TIMEOUT", 1]],
  "429 once, Retry-After: 2": [["valid", 2]],
  "429, Retry-After: 600": [["THROTTLED", 1]],
  "503 once, Retry-After as a date": [["valid", 2]],
  "503 each time": [["SERVER_ERROR", 4]],
  "400 with TooManyRequestsException each time": [["THROTTLED", 4]],
  "a company proxy's page with status 200": [PAGE],
  "a company proxy's page with status 403": [PAGE],
  "an empty response with status 200": [PAGE],
  "a captive portal's redirect": [PAGE],
  "a server without TLS at an https: address": [ALONE],
  "rotated token lost with the response, grace period": [ALONE, ["valid", 2]],
  "rotated token lost with the response, no grace period": [ALONE, ["REFRESH_REJECTED", 2]],
};

/** In milliseconds. Pauses take no time here, so only a missing response reaches the deadline. */
const DEADLINE_MS = 30_000;

/** Logs in, then lets the session meet a fault. @returns What was seen, and whether tokens are left. */
async function meet(
  each: FaultCase,
  work: (session: Session) => Promise<unknown>,
): Promise<[seen: Seen, state: string, canRefresh: boolean]> {
  await using provider = await startFaultyProvider(each);
  return await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    const clock = new Clock();
    const { monotonic, sleep } = clock;
    const options = { ...provider.sandbox.settings, envFile, monotonic, sleep };
    await createSession({ ...options, authUrl: provider.url }).login();
    // Without AUTH_SESSION, the session accepts the tokens at another address of the provider.
    const saved = await Deno.readTextFile(envFile);
    await Deno.writeTextFile(envFile, saved.replace(/^AUTH_SESSION=.*\n/m, ""));
    const authUrl = await provider.begin();
    const session = createSession({ ...options, authUrl, timeoutMs: DEADLINE_MS });
    using timeouts = heldTimeouts();
    const working = work(session).then(() => undefined, (error) => error);
    if (each.waitsAfter) {
      await Promise.race([working, until(provider.isWaiting)]);
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
      // If the redirect were followed, the error would describe the portal's page.
      if (each.name.includes("redirect")) assertMatch(error.message, /status 302, a redirect/);
      if (error instanceof ProviderError) attempts = error.attempts;
    }
    const requests = provider.requests();
    if (requests > 0 && attempts > 0) assertEquals(attempts, requests, "the error's attempts");
    const { state, canRefresh } = session.status();
    // The next process reads the same state from the file.
    assertEquals(createSession({ ...options, authUrl }).status().canRefresh, canRefresh);
    return [[error?.code ?? "valid", requests || attempts], state, canRefresh];
  });
}

for (const each of FAULT_CASES) {
  const [expected, ofRefresh = expected] = EXPECTED[each.name] ?? [];
  Deno.test(`login() and refresh() have the expected outcome (fault: ${each.name})`, async () => {
    const login = await meet(each, (session) => session.login({ force: true }));
    assertEquals(login, [expected, "valid", true], "login");
    const refresh = await meet(each, (session) => session.refresh());
    const isKept = ofRefresh?.[0] !== "REFRESH_REJECTED";
    assertEquals(refresh, [ofRefresh, "valid", isKept], "refresh");
  });
}
