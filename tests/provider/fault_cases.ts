/** The faults that networks cause in a request to the identity provider, for tests and measurements. */
import { type Sandbox, startSandbox, type StartSandboxOptions } from "../../src/sandbox/mod.ts";
import { REFUSING } from "../support/free_port.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "../support/fault_proxy.ts";
import "../support/sandbox_key.ts";

/** A provider behind a proxy that injects the fault of a case. */
export interface FaultyProvider extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Injects the fault from the next request on, and returns the address to use from then on. */
  begin(): Promise<string>;
  /** The number of requests that arrived since then. */
  requests(): number;
  /** Whether such a request waits for its deadline. */
  isWaiting(): boolean;
}

export interface FaultCase {
  readonly name: string;
  readonly sandbox?: StartSandboxOptions;
  /** Only the deadline ends the request. It is counted here when nothing more happens until then. */
  readonly waitsAfter?: "requests" | "judged";
  begin(at: { sandbox: Sandbox; proxy: FaultProxy }): void | Promise<void>;
  /** The address from then on, if it differs; no request arrives there. */
  url?(at: { sandbox: Sandbox }): string;
}

const always = (fault: Fault): Fault[] => Array.from({ length: 20 }, () => fault);

function planned(name: string, plan: Fault | Fault[], more: Partial<FaultCase> = {}): FaultCase {
  return { name, begin: ({ proxy }) => proxy.plan(plan), ...more };
}

function answered(
  name: string,
  answer: { status: number; headers?: Record<string, string>; body?: string; times?: number },
): FaultCase {
  return {
    name,
    begin({ sandbox }) {
      sandbox.failures.push({ at: "token", ...answer });
    },
  };
}

const PAGE = "<!doctype html><title>Blocked</title><p>Ask your administrator.";
const THROTTLED = '{"__type":"TooManyRequestsException","message":"Rate exceeded"}';
const rotating = (graceSeconds: number) => ({ rotateRefreshTokens: true, graceSeconds } as const);

export const FAULT_CASES: readonly FaultCase[] = [
  { name: "connection refused", begin: () => {}, url: () => REFUSING },
  planned("connection reset before the request is read", always("resetBefore")),
  planned("connection reset once", "resetBefore"),
  planned("response lost once", "resetAfterRequest"),
  planned("connection closed without a response", always("closeAfterRequest")),
  planned("connection closed during the response", always("closeMidAnswer")),
  planned("request never read", always("never"), { waitsAfter: "requests" }),
  planned("request read, but no response", always("neverAfterRequest"), {
    waitsAfter: "judged",
  }),
  planned("response byte by byte, without end", always({ dripMs: 20 }), { waitsAfter: "judged" }),
  answered("429 once, Retry-After: 2", { status: 429, headers: { "retry-after": "2" }, times: 1 }),
  answered("429, Retry-After: 600", { status: 429, headers: { "retry-after": "600" } }),
  {
    name: "503 once, Retry-After as a date",
    begin({ sandbox }) {
      // Whole seconds: the date is one to two seconds ahead.
      const date = new Date(Date.now() + 2_000).toUTCString();
      const failure = { at: "token", status: 503, times: 1 } as const;
      sandbox.failures.push({ ...failure, headers: { "retry-after": date } });
    },
  },
  answered("503 each time", { status: 503 }),
  answered("400 with TooManyRequestsException each time", { status: 400, body: THROTTLED }),
  answered("a company proxy's page with status 200", {
    status: 200,
    headers: { "content-type": "text/html" },
    body: PAGE,
  }),
  answered("a company proxy's page with status 403", {
    status: 403,
    headers: { "content-type": "text/html" },
    body: PAGE,
  }),
  answered("an empty response with status 200", { status: 200, body: "" }),
  {
    name: "a captive portal's redirect",
    begin({ sandbox }) {
      const location = `${sandbox.portalUrl}/login`;
      sandbox.failures.push({ at: "token", status: 302, headers: { location }, body: PAGE });
    },
  },
  {
    name: "a server without TLS at an https: address",
    begin: () => {},
    url: ({ sandbox }) => sandbox.authUrl.replace("http:", "https:"),
  },
  planned("rotated token lost with the response, grace period", "resetAfterRequest", {
    sandbox: rotating(60),
  }),
  planned("rotated token lost with the response, no grace period", "resetAfterRequest", {
    sandbox: rotating(0),
  }),
];

/** Starts a provider for a case. The fault starts with `begin()`. */
export async function startFaultyProvider(
  each: FaultCase,
  options: StartSandboxOptions = {},
): Promise<FaultyProvider> {
  const sandbox = await startSandbox({ ...options, ...each.sandbox });
  const target = { hostname: "127.0.0.1", port: Number(new URL(sandbox.authUrl).port) };
  const proxy = await startFaultProxy({ target });
  let before = { ...proxy.counts };
  return {
    sandbox,
    url: proxy.url,
    async begin() {
      before = { ...proxy.counts };
      await each.begin({ sandbox, proxy });
      return each.url?.({ sandbox }) ?? proxy.url;
    },
    requests: () => proxy.counts.requests - before.requests,
    isWaiting: () =>
      each.waitsAfter !== undefined && proxy.counts[each.waitsAfter] > before[each.waitsAfter],
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}
