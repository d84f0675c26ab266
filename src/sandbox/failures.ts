/** A fault that the sandbox injects into the token endpoint or the API. */
export interface Failure {
  /** Which system fails: the token endpoint or the API. */
  at: "token" | "api";
  /** Respond with this status instead of serving the request; 200 if only `body` is given. */
  status?: number;
  /** Headers of the injected response, such as `retry-after`. */
  headers?: Record<string, string>;
  /**
   * Body of the injected response. Default: an error in the format of the token endpoint or of the
   * API.
   */
  body?: string;
  /**
   * Cut the connection. `"before"`: the system does not receive the request. `"during"`: the system
   * serves the request, and only the response is lost.
   */
  drop?: "before" | "during";
  /** Wait this many milliseconds before the response. */
  delayMs?: number;
  /**
   * The number of requests that will fail. Each failed request reduces the number by one. Default:
   * all requests fail.
   */
  times?: number;
}

/** A cut connection, which `fetch` reports as a `TypeError`. */
export class ConnectionLost extends TypeError {
  override name = "TypeError";
  constructor() {
    super("connection lost");
  }
}

/** A request to the token endpoint or the API, with the failures and the delay that apply to it. */
export interface Exchange {
  readonly at: Failure["at"];
  readonly failures: Failure[];
  readonly latencyMs: number;
  readonly signal: AbortSignal;
  /** Receives the status of the response, even if the response is lost. */
  readonly record: { status: number };
}

/**
 * Serves a request, unless an injected failure applies to it.
 *
 * @throws {ConnectionLost} If a failure cuts the connection.
 */
export async function serveOrFail(
  { at, failures, latencyMs, signal, record }: Exchange,
  serve: () => Promise<Response>,
): Promise<Response> {
  const failure = failures.find((each) => each.at === at && (each.times ?? 1) > 0);
  if (failure !== undefined) checkFailure(failure);
  if (failure?.times !== undefined) failure.times--;
  await pause(latencyMs + (failure?.delayMs ?? 0), signal);
  if (failure?.drop === "before") throw new ConnectionLost();
  const response = injectedResponse(failure) ?? await serve();
  record.status = response.status;
  if (failure?.drop !== "during") return response;
  await response.body?.cancel();
  throw new ConnectionLost();
}

/** Waits. Rejects with the signal's reason if the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms <= 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Returns the response that a failure injects; `undefined` if the failure injects none. */
function injectedResponse(failure: Failure | undefined): Response | undefined {
  if (failure?.status === undefined && failure?.body === undefined) return undefined;
  const { at, status = 200, headers = {}, body = errorBody(at, status) } = failure;
  const bodyless = [204, 205, 304].includes(status);
  return new Response(bodyless ? null : body, { status, headers });
}

function errorBody(at: Failure["at"], status: number): string {
  if (status < 400) return "";
  const message = `The sandbox injected the status ${status}.`;
  if (at === "api") return JSON.stringify({ error: "injected", message });
  const names: Record<number, string> = {
    429: "TooManyRequestsException",
    403: "ForbiddenException",
  };
  const other = status < 500 ? "InvalidParameterException" : "InternalErrorException";
  return JSON.stringify({ __type: names[status] ?? other, message });
}

const isOneOf = (...allowed: unknown[]) => (value: unknown) => allowed.includes(value);
const isNumber = (least: number, most: number) => (value: unknown) =>
  typeof value === "number" && value >= least && value <= most;
const isWhole = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(value) && isNumber(least, most)(value);

/** For each field, a check of its value, and a description of the accepted values. */
const FIELDS: Record<keyof Failure, [accepts: (value: unknown) => boolean, must: string]> = {
  at: [isOneOf("token", "api"), '"token" or "api"'],
  status: [isWhole(200, 599), "a whole number from 200 to 599"],
  headers: [
    (value) => new Headers(value as HeadersInit) !== undefined,
    "an object of valid HTTP headers",
  ],
  body: [(value) => typeof value === "string", "a string"],
  drop: [isOneOf("before", "during"), '"before" or "during"'],
  delayMs: [isNumber(0, 600_000), "0 to 600000"],
  times: [isWhole(0, Infinity), "a whole number, 0 or more"],
};

/**
 * Checks one failure.
 *
 * @throws {TypeError} If a field is missing, unknown, out of range or does not fit the others.
 */
export function checkFailure(failure: Failure): Failure {
  const fail = (problem: string): never => {
    throw new TypeError(`Cannot use the failure ${JSON.stringify(failure)}: ${problem}`);
  };
  if (typeof failure !== "object" || failure === null) fail("must be an object");
  const fields: Record<string, unknown> = { ...failure };
  const known = Object.keys(FIELDS);
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`unknown field "${unknown}"; use one of ${known.join(", ")}`);
  for (const [name, [accepts, must]] of Object.entries(FIELDS)) {
    const value = fields[name];
    if ((value !== undefined || name === "at") && !accepts(value)) {
      fail(`"${name}" must be ${must}`);
    }
  }
  const { status, body, headers, drop, delayMs } = failure;
  const responds = status !== undefined || body !== undefined;
  if (drop !== undefined && responds) {
    fail('"drop" loses the response, so omit "status" and "body"');
  }
  if (headers !== undefined && !responds) fail('"headers" needs "status" or "body"');
  if (!responds && drop === undefined && delayMs === undefined) {
    fail('set "status", "body", "drop" or "delayMs"');
  }
  return failure;
}
