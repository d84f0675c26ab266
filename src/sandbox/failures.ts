/** A fault that the sandbox injects into the token endpoint or the API. */
export interface Failure {
  /** Which system fails: the token endpoint or the API. */
  at: "token" | "api";
  /** Answer with this status instead of the service's own answer; 200 when only `body` is given. */
  status?: number;
  /** Headers of that answer, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Body of that answer. Default: an error as that system sends it. */
  body?: string;
  /**
   * Cut the connection. `"before"`: the service has not seen the request. `"during"`: the service
   * has done its work, and the answer is lost.
   */
  drop?: "before" | "during";
  /** Wait before the answer, in milliseconds. */
  delayMs?: number;
  /** How many requests fail; counts down. Default: all. */
  times?: number;
}

/** A cut connection: `fetch` reports one as a `TypeError`. */
export class ConnectionLost extends TypeError {
  override name = "TypeError";
  constructor() {
    super("connection lost");
  }
}

/** Finds the first failure of this system that is not used up, and counts it down. */
export function takeFailure(failures: Failure[], at: Failure["at"]): Failure | undefined {
  const failure = failures.find((each) => each.at === at && (each.times ?? 1) > 0);
  if (failure === undefined) return undefined;
  checkFailure(failure);
  if (failure.times !== undefined) failure.times--;
  return failure;
}

/** The answer of a failure, or `undefined` if it only delays or cuts. */
function failureAnswer(failure: Failure): Response | undefined {
  if (failure.status === undefined && failure.body === undefined) return undefined;
  const status = failure.status ?? 200;
  const bodyless = status === 204 || status === 205 || status === 304;
  const body = bodyless ? null : failure.body ?? defaultBody(failure.at, status);
  return new Response(body, { status, headers: failure.headers ?? {} });
}

/**
 * Answers one request, with the failure if there is one.
 *
 * @throws {ConnectionLost} The failure cuts the connection.
 */
export async function withFailure(
  failure: Failure | undefined,
  signal: AbortSignal,
  serve: () => Promise<Response>,
): Promise<Response> {
  if (failure === undefined) return await serve();
  if (failure.delayMs !== undefined) await pause(failure.delayMs, signal);
  if (failure.drop === "before") throw new ConnectionLost();
  const answer = failureAnswer(failure) ?? await serve();
  if (failure.drop === "during") {
    await answer.body?.cancel();
    throw new ConnectionLost();
  }
  return answer;
}

/** Waits; rejects with the reason of the signal if it is aborted meanwhile. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
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

/**
 * Checks one failure.
 *
 * @throws {TypeError} A field is missing, unknown, out of range or does not fit the others.
 */
export function checkFailure(failure: Failure): Failure {
  const fail = (problem: string): never => {
    throw new TypeError(`Cannot use the failure ${JSON.stringify(failure)}: ${problem}`);
  };
  if (typeof failure !== "object" || failure === null) fail("must be an object");
  const known = ["at", "status", "headers", "body", "drop", "delayMs", "times"];
  const odd = Object.keys(failure).find((name) => !known.includes(name));
  if (odd !== undefined) fail(`unknown field "${odd}"; known are ${known.join(", ")}`);
  const { at, status, headers, body, drop, delayMs, times } = failure;
  if (at !== "token" && at !== "api") fail('"at" must be "token" or "api"');
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599)) {
    fail('"status" must be a whole number from 200 to 599');
  }
  if (body !== undefined && typeof body !== "string") fail('"body" must be a text');
  if (drop !== undefined && drop !== "before" && drop !== "during") {
    fail('"drop" must be "before" or "during"');
  }
  if (delayMs !== undefined && !(delayMs >= 0 && delayMs <= 600_000)) {
    fail('"delayMs" must be 0 to 600000');
  }
  if (times !== undefined && !(Number.isInteger(times) && times >= 0)) {
    fail('"times" must be a whole number, 0 or more');
  }
  const answers = status !== undefined || body !== undefined;
  if (drop !== undefined && answers) {
    fail('"drop" gives no answer, so leave out "status" and "body"');
  }
  if (headers !== undefined && !answers) fail('"headers" needs "status" or "body"');
  if (headers !== undefined) new Headers(headers);
  if (!answers && drop === undefined && delayMs === undefined) {
    fail('give "status", "body", "drop" or "delayMs"');
  }
  return failure;
}

function defaultBody(at: Failure["at"], status: number): string {
  if (status < 400) return "";
  if (at === "api") {
    return JSON.stringify({
      error: "injected",
      message: `The sandbox was told to fail with ${status}.`,
    });
  }
  const name = status === 429
    ? "TooManyRequestsException"
    : status === 403
    ? "ForbiddenException"
    : status >= 500
    ? "InternalErrorException"
    : "InvalidParameterException";
  return JSON.stringify({ __type: name, message: `The sandbox was told to fail with ${status}.` });
}
