import { isPage, JudgedCall } from "./answer.ts";
import type { ApiCaller } from "./auth_fetch.ts";
import { withDefault } from "./headers.ts";
import { retryAfterMs } from "../http/backoff.ts";
import { checkOptions } from "../settings/options.ts";
import { typeError } from "../errors/errors.ts";
import { closest } from "../values/wording.ts";

/** Options of {@linkcode fetchJson}: those of `fetch`, and when to ask again. */
export interface FetchJsonInit extends RequestInit {
  /** How often a GET or HEAD that is answered 429 or 503 is sent again. Default 3. */
  retries?: number;
  /** How long after the first request it may be sent again, in milliseconds. Default 60 000. */
  retryWithinMs?: number;
}

/** Options that are written by hand, and so mistyped. */
const OPTIONS = ["method", "headers", "body", "signal", "redirect", "retries", "retryWithinMs"];

/** Asks that pass: the API is busy, or will be back. */
const TRANSIENT = [429, 503];

/**
 * Sends a call and parses the body of its answer.
 *
 * @throws {ApiError} `API_STATUS` for anything but 2xx, `API_BODY` for a body that is no JSON.
 */
export async function fetchParsed<T>(
  caller: ApiCaller,
  input: string | URL | Request,
  init: FetchJsonInit = {},
  signal?: AbortSignal,
): Promise<T> {
  const { retries = 3, retryWithinMs = 60_000, ...options } = checked(init);
  const call = new JudgedCall("fetchJson()", caller, input, options, signal);
  const headers = withDefault(call.headers, "accept", "application/json");
  const { world } = caller;
  const started = world.monotonic();
  for (let attempt = 1;; attempt++) {
    const response = await call.send(headers);
    if (response.ok) return await parse<T>(call, response);
    const waitMs = retryAfterMs(response.headers, world.now());
    const backoff = 1_000 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    const pause = waitMs === undefined ? backoff : waitMs + backoff * 0.2;
    const passes = TRANSIENT.includes(response.status) && call.isSafe && attempt <= retries &&
      world.monotonic() - started + pause <= retryWithinMs;
    if (!passes) throw await call.statusError(response, attempt);
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
    // Options of `fetch` that are not known here are passed on.
    const meant = OPTIONS.includes(name) ? undefined : closest(name, OPTIONS);
    if (meant === undefined) continue;
    throw typeError(`fetchJson() has no option "${name}" (did you mean "${meant}"?)`);
  }
  if (![retries ?? 0, retryWithinMs ?? 0].every((count) => count >= 0)) {
    throw typeError("fetchJson() takes zero or more as retries and retryWithinMs");
  }
  return init;
}

async function parse<T>(call: JudgedCall, response: Response): Promise<T> {
  let text: string;
  try {
    text = await response.text();
  } catch {
    call.signal?.throwIfAborted();
    throw call.bodyError(response, "it broke off", "try again");
  }
  try {
    return JSON.parse(text);
  } catch {
    const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    throw call.bodyError(response, ...judge(call, response, text.trim(), type));
  }
}

/** What a body is that is no JSON, and what to do about it. */
function judge(
  call: JudgedCall,
  response: Response,
  text: string,
  type: string,
): [seen: string, next: string] {
  if (text === "") {
    return [
      "it is empty and no JSON",
      "use authFetch() for calls that are answered without a body",
    ];
  }
  const quote = (words: string) => call.quote(words, response, 80);
  if (isPage(text) || type === "text/html") {
    const [page, next] = call.judgePage(text, response);
    return [`it is ${page}, and no JSON`, next];
  }
  if (type === "text/csv" || looksLikeCsv(text)) {
    return [
      "it is CSV and no JSON",
      "read it with (await authFetch(…)).text(), or save it with download()",
    ];
  }
  if (/^[[{]/.test(text)) return judgeJson(text);
  const words = type === "" ? "has no content type" : `has the content type ${quote(type)}`;
  return [
    `it is no JSON, ${words} and begins with "${quote(text.slice(0, 60))}"`,
    "read it with (await authFetch(…)).text()",
  ];
}

/** What is nearly JSON. */
function judgeJson(text: string): [seen: string, next: string] {
  const reading = "read it with (await authFetch(…)).text(), and";
  if (whyNoJson(text.split("\n", 1)[0] ?? "") === undefined) {
    return ["it is one JSON value a line", `${reading} parse each line`];
  }
  // The runtime quotes the place; to look for it in the text could take long.
  if (/^Unexpected token .*(NaN|Infinity)|^No number after minus/s.test(whyNoJson(text) ?? "")) {
    return [
      "it has NaN or Infinity, which JSON does not know",
      `${reading} put null in their place`,
    ];
  }
  return ["it is JSON that is cut off or malformed", "try again"];
}

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
