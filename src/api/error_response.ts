/** Reads the message of a response whose status is an error, and finds the fix for the status. */
import { isText } from "./charset.ts";
import { isPage, pageText } from "./pages.ts";
import type { Fix } from "../errors/advice.ts";
import { counted } from "../errors/amounts.ts";
import { parsedJson } from "../platform/json.ts";

/**
 * Returns the message in the body of an error response: the message in JSON, the title of a web
 * page, or the whole text; nothing if the body is not text.
 */
export function messageIn(text: string): string {
  if (isPage(text)) return pageText(text);
  if (!isText(text)) return "";
  return sentenceIn(parsedJson(text)) ?? text;
}

/** Names of the property with the message. Names for a single sentence come first. */
const SENTENCES = [
  "message",
  "Message",
  "msg",
  "detail",
  "error_description",
  "description",
  "title",
  "reason",
  "error",
  "errors",
];

/** Maximum depth of the search, so that no body can exhaust the stack. */
const MAX_DEPTH = 8;

/** Finds the sentence in a parsed body; the sentences of a list are joined. */
function sentenceIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === "string") return value.trim() || undefined;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  if (Array.isArray(value)) {
    const sentences = value.map((each) => sentenceIn(each, depth + 1)).filter((each) => each);
    return sentences.join("; ") || undefined;
  }
  const body = value as Record<string, unknown>;
  const sentence = SENTENCES.map((name) => sentenceIn(body[name], depth + 1)).find((it) => it);
  // FastAPI names the place of each mistake, such as ["query", "limit"].
  const place = Array.isArray(body.loc) ? body.loc.filter((it) => typeof it !== "object") : [];
  return sentence && place.length > 0 ? `${place.join(".")}: ${sentence}` : sentence;
}

/**
 * Whether the API does not know the path. AWS API Gateway responds to such a path as if the token
 * were missing.
 *
 * @param said The message in the body, if it was read.
 */
export function isUnknownPath({ status, headers }: Response, said: string): boolean {
  if (status !== 403) return status === 404 || status === 410;
  return /missing ?authentication ?token/i.test(`${said} ${headers.get("x-amzn-errortype")}`);
}

/**
 * Returns the fix for a response that is a refusal, or a 202.
 *
 * @param said The message in the body.
 * @param waitMs The wait that the response's `Retry-After` asks for, in milliseconds.
 */
export function fixOfStatus(response: Response, said: string, waitMs: number | undefined): Fix {
  const { status } = response;
  if (waitMs !== undefined && waitMs > 0) {
    return `wait ${counted(Math.ceil(waitMs / 1_000), "second")}, as the API asks, then try again`;
  }
  if (isUnknownPath(response, said)) return "check the path";
  if (status === 401) {
    return ["run ", { call: "login", options: { force: true } }, ", then try again"];
  }
  if (status === 403) {
    return "ask the support channel of your subscription for this permission; another login does not help";
  }
  if (status === 431 || /header.* too large/i.test(said)) {
    return "send fewer or shorter headers; if you set none, ask the support channel of your subscription, " +
      "because the token is too large for the API";
  }
  if ([202, 429].includes(status) || status >= 500) return "try again in a few minutes";
  return "check the request";
}
