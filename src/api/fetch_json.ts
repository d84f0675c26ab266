import { CheckedCall, isPage, NOT_THE_API, type Unusable } from "./checked_call.ts";
import type { ApiAccount } from "./auth_fetch.ts";
import { withDefault } from "./headers.ts";
import { pauseBeforeRetryMs, retryAfterMs } from "../http/backoff.ts";
import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";
import { closest } from "../values/wording.ts";

/** Options of {@linkcode fetchJson}: those of `fetch`, and when to ask again. */
export interface FetchJsonInit extends RequestInit {
  /** How often a GET or HEAD that is answered 429 or 503 is sent again. Default 3. */
  retries?: number;
  /** How long after the first request it may be sent again, in milliseconds. Default 60 000. */
  retryWithinMs?: number;
}

/** The options whose names are checked for typing errors. */
const OPTIONS = ["method", "headers", "body", "signal", "redirect", "retries", "retryWithinMs"];

/** Statuses worth a retry: the API is busy, or away for a moment. */
const WORTH_A_RETRY = [429, 503];
/** The longest pause after the first of them. */
const FIRST_PAUSE_MS = 1_000;

/**
 * Sends a call and parses the body of its answer.
 *
 * @throws {ApiError} `API_STATUS` for anything but 2xx, `API_BODY` for a body that is no JSON.
 */
export async function fetchParsed<T>(
  account: ApiAccount,
  input: string | URL | Request,
  init: FetchJsonInit = {},
  signal?: AbortSignal,
): Promise<T> {
  const { retries = 3, retryWithinMs = 60_000, ...options } = checked(init);
  const call = new CheckedCall("fetchJson()", account, input, options, signal);
  const headers = withDefault(call.headers, "accept", "application/json");
  const { world } = account;
  const started = world.monotonic();
  for (let attempt = 1;; attempt++) {
    const response = await call.send(headers);
    if (response.ok) return await parse<T>(call, response);
    const waitMs = retryAfterMs(response.headers, world.now());
    const pause = pauseBeforeRetryMs(waitMs, attempt, FIRST_PAUSE_MS, world.random);
    const isRetried = WORTH_A_RETRY.includes(response.status) && call.isSafe &&
      attempt <= retries && world.monotonic() - started + pause <= retryWithinMs;
    if (!isRetried) throw await call.statusError(response, attempt);
    await response.body?.cancel();
    await world.sleep(pause, signal);
    signal?.throwIfAborted();
  }
}

function checked(init: FetchJsonInit): FetchJsonInit {
  if (init === null || typeof init !== "object" || init instanceof Request) {
    throw typeError("fetchJson() takes an object of options as its second argument");
  }
  const { retries, retryWithinMs } = init;
  checkOptions("fetchJson()", { retries, retryWithinMs }, {
    retries: ["number"],
    retryWithinMs: ["number"],
  });
  for (const name of Object.keys(init)) {
    // Other names are passed on: they may be further options of `fetch`.
    const meant = OPTIONS.includes(name) ? undefined : closest(name, OPTIONS);
    if (meant === undefined) continue;
    throw typeError(`fetchJson() has no option "${name}" (did you mean "${meant}"?)`);
  }
  if (![retries ?? 0, retryWithinMs ?? 0].every((count) => count >= 0)) {
    throw typeError("fetchJson() takes zero or more as retries and retryWithinMs");
  }
  return init;
}

async function parse<T>(call: CheckedCall, response: Response): Promise<T> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    call.signal?.throwIfAborted();
    throw call.bodyError(response, { problem: "it broke off", fix: "try again" }, error);
  }
  try {
    return JSON.parse(text);
  } catch {
    const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    throw call.bodyError(response, whyUnusable(call, response, text.trim(), type));
  }
}

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
      fix: "read it with (await authFetch(…)).text(), or save it with download()",
    };
  }
  if (/^[[{]/.test(text)) return whyMalformed(text);
  const words = type === "" ? "has no content type" : `has the content type ${quote(type)}`;
  return {
    problem: `it is no JSON, ${words} and begins with "${quote(text.slice(0, 60))}"`,
    fix: "read it with (await authFetch(…)).text()",
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
  return { problem: "it is JSON that is cut off or malformed", fix: "try again" };
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
