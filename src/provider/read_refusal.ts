import { isTransient } from "../errors/errors.ts";
import type { ProviderAnswer, ProviderRequest, Refused } from "./protocol.ts";
import { isQuotableName, isQuotableSentence, refusalFor } from "./refusals.ts";
import { redact } from "../platform/secret.ts";

/**
 * What an answer without tokens means. Names and messages are read in every form in which such
 * services send them.
 *
 * @param problem What is wrong with an answer whose status says success.
 */
export function readRefusal(
  sent: Pick<ProviderRequest, "flow" | "secrets">,
  answer: ProviderAnswer,
  json: unknown,
  problem?: string,
): Refused {
  const { status, headers } = answer;
  const quote = (text: string, length?: number) => redact(text, sent.secrets, length);
  const { name, message } = errorOf(answer, json);
  const row = refusalFor(sent.flow, answer, name, message);
  const requestId = headers.get("x-amzn-requestid") ?? headers.get("x-request-id");
  const refused: Refused = {
    kind: "refused",
    code: row.code,
    repeatable: row.repeatable ?? isTransient(row.code),
    isFinal: row.isFinal === true,
    codeAlreadyUsed: row.codeAlreadyUsed === true,
    words: row.words,
    seen: `status ${status}, ${problem === undefined ? describe(answer, json) : quote(problem)}`,
    status,
    requestId: requestId === null ? undefined : quote(requestId, 80),
  };
  if (name === "") return refused;
  const providerCode = isQuotableName(name) ? name : quote(name, 80);
  const sentence = message.replace(/\.$/, "");
  const shown = isQuotableSentence(sentence) ? sentence : quote(sentence || "no message");
  const seen = problem === undefined ? `status ${status}, ${providerCode}: ${shown}` : refused.seen;
  return { ...refused, seen, providerCode, message: shown };
}

/** Name and message of an error, from the body's `__type` or `code`, the header, or plain text. */
function errorOf(answer: ProviderAnswer, json: unknown): { name: string; message: string } {
  const body = typeof json === "object" && json !== null ? json as Record<string, unknown> : {};
  const text = (...values: unknown[]) => values.find((v) => typeof v === "string" && v !== "");
  const message = String(text(body.message, body.Message, body.error_description) ?? "");
  const named = text(body.__type, body.code, body.Code, answer.headers.get("x-amzn-errortype")) ??
    (json === undefined ? /^\s*([\w.#]+Exception)\b/.exec(answer.text)?.[1] : undefined) ?? "";
  // "com.example#Name" and "Name:http://…" both name Name.
  const name = String(named).split("#").at(-1)?.split(":")[0]?.trim() ?? "";
  const plain = json === undefined && name !== ""
    ? answer.text.slice(answer.text.indexOf(name) + name.length).replace(/^[:\s]+/, "")
    : "";
  return { name, message: message || (plain.startsWith("<") ? "" : plain) };
}

/** What kind of body it is. It is not quoted: it may repeat what was sent. */
function describe(answer: ProviderAnswer, json: unknown): string {
  const { status, text } = answer;
  if (status >= 300 && status < 400) return "a redirect";
  if (text.trim() === "") return "an empty body";
  if (/^\s*</.test(text)) return `an HTML or XML page of ${text.length} characters`;
  if (json === undefined) return `${text.length} characters that are not whole JSON`;
  if (Array.isArray(json)) return "a JSON array";
  return typeof json === "object" && json !== null
    ? "a JSON object without an error name"
    : `JSON null, text or a number`;
}
