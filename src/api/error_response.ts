/** Reads the message of a response whose status is an error, and finds the fix for the status. */
import { isPage, pageText } from "./pages.ts";
import type { Fix } from "../errors/advice.ts";
import { counted } from "../errors/amounts.ts";
import { parsedJson } from "../platform/json.ts";

/**
 * Returns the message in the body of an error response: the message in JSON or XML, the title of a
 * web page, or the whole text.
 */
export function messageIn(text: string): string {
  if (isPage(text)) return pageText(text);
  const element = /^</.test(text) && /<Message>([^<]*)<\/Message>/i.exec(text)?.[1];
  return element || (sentenceIn(parsedJson(text)) ?? text);
}

const SENTENCES = ["message", "Message", "detail", "error_description", "title", "reason"];

function sentenceIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const body = value as Record<string, unknown>;
  const named = SENTENCES.map((name) => body[name]).find((it) => typeof it === "string" && it);
  const [first] = Array.isArray(body.errors) ? body.errors : [];
  return typeof named === "string" ? named : sentenceIn(body.error ?? first);
}

/**
 * Returns the fix for a response whose status is not 2xx.
 *
 * @param waitMs The wait that the response's `Retry-After` asks for, in milliseconds.
 */
export function fixOfStatus(status: number, waitMs: number | undefined): Fix {
  if (waitMs !== undefined && waitMs > 0) {
    return `wait ${counted(Math.ceil(waitMs / 1_000), "second")}, as the API asks, then try again`;
  }
  if (status === 401) {
    return ["run ", { call: "login", options: { force: true } }, ", then try again"];
  }
  if (status === 403) {
    return "your account does not have this permission, and another login does not help: ask the support channel of " +
      "your subscription";
  }
  if (status === 404 || status === 410) return "check the path";
  if (status === 429) return "wait, then try again";
  if (status >= 500) return "try again in a few minutes";
  return "check the request";
}
