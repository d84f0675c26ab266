/** Calls the API and parses the response as JSON. Repeats a call if the API was too busy. */
import type { ApiAccount } from "./account.ts";
import { CheckedCall } from "./checked_call.ts";
import { isText, strictText } from "./charset.ts";
import { isPage } from "./pages.ts";
import { pauseBeforeRetryMs, retryAfterMs } from "../platform/backoff.ts";
import { idleTimeout, Stalled, WAIT_LONGER } from "./idle.ts";
import { type Attempt, retry } from "../platform/retry.ts";
import type { Advice } from "../errors/advice.ts";
import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";

/** Options of {@linkcode fetchJson}: the options of `fetch`, and options for retries. */
export interface FetchJsonInit extends RequestInit {
  /** The number of times to repeat a GET or HEAD after a 429 or a 503. Default 3. */
  retries?: number;
  /** Maximum total length of the pauses between requests, in milliseconds. Default 60 000. */
  retryWithinMs?: number;
  /**
   * Maximum time without data from the API, in milliseconds. Default 300 000; 0 means no limit. A
   * call that exceeds it is not repeated, because the API may still be computing the response.
   */
  idleTimeoutMs?: number;
}

/** The options that `fetch` does not have. All other options go to `fetch`. */
const OWN_OPTIONS = { retries: "number", retryWithinMs: "number", idleTimeoutMs: "number" };

/** Statuses worth a retry: the API is busy or briefly unavailable. */
const WORTH_A_RETRY = [429, 503];
/** The longest pause before the first retry. */
const FIRST_PAUSE_MS = 1_000;
const DEFAULT_IDLE_MS = 300_000;

/**
 * Sends a call and returns the parsed body of the response; `undefined` for a HEAD request or an
 * empty body.
 *
 * @throws {ApiError} `API_STATUS` for anything but 2xx, `API_BODY` for a body that is not JSON or
 * not text in its charset, `API_TIMEOUT` if no data arrives.
 */
export async function fetchParsed<T>(
  account: ApiAccount,
  input: string | URL | Request,
  init: FetchJsonInit = {},
  signal?: AbortSignal,
): Promise<T> {
  checkInit(init);
  const { retries = 3, idleTimeoutMs = DEFAULT_IDLE_MS } = init;
  let { retryWithinMs: leftMs = 60_000 } = init;
  const call = new CheckedCall(account, input, init, signal, idleTimeout(idleTimeoutMs));
  const headers = new Headers(call.request.headers);
  if (!headers.has("accept")) headers.set("accept", "application/json");
  const { world } = account;

  /** The pause before the next request; `undefined` if no request follows. */
  function pauseAfter(refusal: Response, attempt: number): number | undefined {
    if (!WORTH_A_RETRY.includes(refusal.status)) return undefined;
    const waitMs = retryAfterMs(refusal.headers, world.now());
    const pauseMs = pauseBeforeRetryMs(waitMs, attempt, FIRST_PAUSE_MS, world.random);
    if (!call.request.isSafe || attempt > retries || pauseMs > leftMs) return undefined;
    leftMs -= pauseMs;
    return pauseMs;
  }

  try {
    return await retry(world, signal, async (attempt): Promise<Attempt<T>> => {
      const response = await call.send(headers, attempt);
      if (response.ok) return { done: await parse<T>(call, response) };
      const pauseMs = pauseAfter(response, attempt);
      if (pauseMs === undefined) throw await call.refusal(response, attempt);
      await response.body?.cancel();
      return { pauseMs, why: `the API responded with ${response.status}` };
    });
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    const { method, url } = call.request;
    const problem = `Cannot ${method} ${url} (${error.message})`;
    throw call.errors.make("API_TIMEOUT", problem, ["try again in a few minutes", WAIT_LONGER]);
  } finally {
    call.release();
  }
}

function checkInit(init: FetchJsonInit): void {
  if (init === null || typeof init !== "object") {
    throw typeError("fetchJson() takes an object of options");
  }
  const { retries, retryWithinMs, idleTimeoutMs } = init;
  checkOptions("fetchJson()", { retries, retryWithinMs, idleTimeoutMs }, OWN_OPTIONS);
  if (![retries ?? 0, retryWithinMs ?? 0].every((count) => count >= 0)) {
    throw typeError("retries and retryWithinMs must be zero or more");
  }
}

async function parse<T>(call: CheckedCall, response: Response): Promise<T> {
  const bytes = await call.bytes(response);
  // `JSON.parse` rejects a second byte order mark and unusual blanks, so `trim()` removes them.
  const text = strictText(bytes, response.headers)?.trim();
  if (text === undefined) throw call.errors.undecodable(response, bytes);
  // The response to a DELETE, for example, often has no body.
  if (text === "" || call.request.method === "HEAD") return undefined as T;
  try {
    return JSON.parse(text);
  } catch {
    throw call.errors.unusable(response, whyUnusable(call, response, text), { text });
  }
}

/** Explains why a body is not JSON. */
function whyUnusable(call: CheckedCall, response: Response, text: string): Advice {
  if (isPage(text)) return call.errors.pageInsteadOfJson(text);
  const type = response.headers.get("content-type") ?? "none";
  const beginning = isText(text)
    ? `begins with "${call.secrets.quote(text, 60)}"`
    : "is binary data";
  return {
    problem: `it is not JSON, has the content type ${
      call.secrets.quote(type, 80)
    } and ${beginning}`,
    fix: "save it with download(), or read it with (await authFetch(…)).text()",
  };
}
