import { CheckedCall, isPage, NOT_THE_API, type Unusable } from "./checked_call.ts";
import type { ApiAccount } from "./auth_fetch.ts";
import { withDefault } from "./headers.ts";
import { pauseBeforeRetryMs, retryAfterMs } from "../platform/backoff.ts";
import { idleTimeout, Stalled, WAIT_LONGER } from "../platform/idle.ts";
import { checkOptions } from "../errors/arguments.ts";
import { type ApiError, typeError } from "../errors/errors.ts";
import { Pauses } from "../platform/pauses.ts";
import { closest } from "../errors/closest.ts";

/** Options of {@linkcode fetchJson}: those of `fetch`, and when to repeat a request. */
export interface FetchJsonInit extends RequestInit {
  /** How many times to repeat a GET or HEAD after a 429, a 503 or a stall. Default 3. */
  retries?: number;
  /**
   * Time limit for starting another request, in milliseconds after the first one. Default 60 000. Time
   * spent in stalled requests is not included.
   */
  retryWithinMs?: number;
  /** Time limit for a stall, in which the API sends no data, in milliseconds. Default 60 000; 0: none. */
  idleTimeoutMs?: number;
}
/** The options whose names are checked for typing errors. */
const OPTIONS = [
  "method",
  "headers",
  "body",
  "signal",
  "redirect",
  "retries",
  "retryWithinMs",
  "idleTimeoutMs",
];

const IN_THE_PATH = "put them into the path: `/v1/stations?${new URLSearchParams({ … })}`";
const AS_BODY = 'write method: "POST", body: JSON.stringify(…), and the header content-type';
const AS_TIMEOUT = "write idleTimeoutMs, or signal: AbortSignal.timeout(10_000) for the whole call";
const AS_RETRIES = "write retries and retryWithinMs";

/** What other clients call their options, and what to write here. `fetch` would ignore them. */
const HABITS: Readonly<Record<string, string>> = {
  params: IN_THE_PATH,
  query: IN_THE_PATH,
  searchParams: IN_THE_PATH,
  json: AS_BODY,
  data: AS_BODY,
  timeout: AS_TIMEOUT,
  timeoutMs: AS_TIMEOUT,
  retry: AS_RETRIES,
  maxRetries: AS_RETRIES,
  auth: "leave it out: the token is added by itself",
};

/** Statuses worth a retry: the API is busy, or away for a moment. */
const WORTH_A_RETRY = [429, 503];
/** The longest pause after the first of them. */
const FIRST_PAUSE_MS = 1_000;

/**
 * Sends a call and parses the body of its answer.
 *
 * @throws {ApiError} `API_STATUS` for anything but 2xx, `API_BODY` for a body that is no JSON,
 *   `API_TIMEOUT` where nothing comes.
 */
export async function fetchParsed<T>(
  account: ApiAccount,
  input: string | URL | Request,
  init: FetchJsonInit = {},
  signal?: AbortSignal,
): Promise<T> {
  const { retries = 3, retryWithinMs = 60_000, idleTimeoutMs, ...options } = checked(init);
  const idleMs = idleTimeout("fetchJson()", idleTimeoutMs);
  const call = new CheckedCall("fetchJson()", account, input, options, signal, idleMs);
  const headers = withDefault(call.headers, "accept", "application/json");
  const { world } = account;
  let started = world.monotonic();
  const pauses = new Pauses(world);
  try {
    for (let attempt = 1;; attempt++) {
      const sent = world.monotonic();
      const outcome = await ask<T>(call, headers);
      if ("value" in outcome) return outcome.value;
      const { refusal, stall } = outcome;
      if (stall) started += world.monotonic() - sent;
      const waitMs = retryAfterMs(refusal?.headers, world.now());
      const pause = pauseBeforeRetryMs(waitMs, attempt, FIRST_PAUSE_MS, world.random);
      const mayPass = refusal === undefined || WORTH_A_RETRY.includes(refusal.status);
      const isRetried = mayPass && call.isSafe && attempt <= retries &&
        world.monotonic() - started + pause <= retryWithinMs;
      if (!isRetried) {
        throw stall ? timeoutError(call, stall, attempt) : await call.statusError(refusal, attempt);
      }
      await refusal?.body?.cancel();
      await pauses.pause(pause, stall?.message ?? `the API answered ${refusal?.status}`, signal);
      signal?.throwIfAborted();
    }
  } finally {
    call.release();
  }
}

/** What a request came to: a value, an answer that is no 2xx, or nothing for too long. */
type Outcome<T> =
  | { readonly value: T }
  | { readonly refusal: Response; readonly stall?: undefined }
  | { readonly refusal?: undefined; readonly stall: Stalled };

async function ask<T>(call: CheckedCall, headers: string[][]): Promise<Outcome<T>> {
  try {
    const response = await call.send(headers);
    return response.ok ? { value: await parse<T>(call, response) } : { refusal: response };
  } catch (error) {
    if (error instanceof Stalled) return { stall: error };
    throw error;
  }
}

function timeoutError(call: CheckedCall, { message }: Stalled, attempts: number): ApiError {
  const tried = attempts > 1 ? `, ${attempts} times in a row` : "";
  const problem = `Cannot ${call.method} ${call.url} (${message}${tried})`;
  return call.error("API_TIMEOUT", problem, ["try again in a few minutes", WAIT_LONGER]);
}

function checked(init: FetchJsonInit): FetchJsonInit {
  if (init === null || typeof init !== "object" || init instanceof Request) {
    throw typeError("fetchJson() takes an object of options as its second argument");
  }
  const { retries, retryWithinMs, idleTimeoutMs } = init;
  checkOptions("fetchJson()", { retries, retryWithinMs, idleTimeoutMs }, {
    retries: ["number"],
    retryWithinMs: ["number"],
    idleTimeoutMs: ["number"],
  });
  for (const name of Object.keys(init)) {
    if (OPTIONS.includes(name)) continue;
    const habit = Object.hasOwn(HABITS, name) ? name : undefined;
    const meant = habit ?? closest(name, OPTIONS) ?? closest(name, Object.keys(HABITS));
    // Other names are passed on: they may be further options of `fetch`.
    if (meant === undefined) continue;
    const instead = HABITS[meant];
    const hint = instead === undefined ? ` (did you mean "${meant}"?)` : `; ${instead}`;
    throw typeError(`fetchJson() has no option "${name}"${hint}`);
  }
  if (![retries ?? 0, retryWithinMs ?? 0].every((count) => count >= 0)) {
    throw typeError("fetchJson() takes zero or more as retries and retryWithinMs");
  }
  return init;
}

async function parse<T>(call: CheckedCall, response: Response): Promise<T> {
  let text: string;
  try {
    text = await call.text(response);
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof Stalled) throw error;
    throw call.bodyError(response, { problem: "it broke off", fix: "try again" }, error);
  }
  try {
    // Trimmed: a second BOM and some blanks are none to JSON.
    return JSON.parse(text.trim());
  } catch {
    const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    throw call.bodyError(response, whyUnusable(call, response, text.trim(), type));
  }
}

const NOT_JSON = "save it with download(), or read text with (await authFetch(…)).text()";

/** What a body is that is no JSON. */
function whyUnusable(
  call: CheckedCall,
  response: Response,
  text: string,
  type: string,
): Unusable {
  if (text === "") {
    return {
      problem: "it is empty and no JSON",
      fix: "use authFetch() for calls that are answered without a body",
    };
  }
  const quote = (words: string) => call.quote(words, response, 80);
  if (isPage(text) || type === "text/html") {
    const page = call.describePage(text, response);
    return { problem: `it is ${page}, and no JSON`, fix: NOT_THE_API };
  }
  if (type === "text/csv" || looksLikeCsv(text)) {
    return {
      problem: "it is CSV and no JSON",
      fix: NOT_JSON,
    };
  }
  if (/^[[{]/.test(text)) return whyMalformed(text);
  const words = type === "" ? "has no content type" : `has the content type ${quote(type)}`;
  return {
    problem: `it is no JSON, ${words} and begins with "${quote(text.slice(0, 60))}"`,
    fix: NOT_JSON,
  };
}

/** What is nearly JSON. */
function whyMalformed(text: string): Unusable {
  const reading = "read it with (await authFetch(…)).text(), and";
  if (whyNoJson(text.split("\n", 1)[0] ?? "") === undefined) {
    return { problem: "it is one JSON value a line", fix: `${reading} parse each line` };
  }
  // The runtime's error quotes the place. A search of our own in a long text could take long.
  if (/^Unexpected token .*(NaN|Infinity)|^No number after minus/s.test(whyNoJson(text) ?? "")) {
    return {
      problem: "it has NaN or Infinity, which JSON does not know",
      fix: `${reading} put null in their place`,
    };
  }
  return {
    problem: "it is JSON that is cut off or malformed",
    fix: "try again, or read it with (await authFetch(…)).text()",
  };
}

/** The runtime's error for a text that is no JSON; `undefined` for JSON. */
function whyNoJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether the first two lines have the same separators, and at least one. */
function looksLikeCsv(text: string): boolean {
  const [first = "", second = ""] = text.split("\n", 2);
  return /^[^{[<]/.test(text) && [",", ";", "\t"].some((separator) => {
    const count = first.split(separator).length;
    return count > 1 && second.split(separator).length === count;
  });
}
