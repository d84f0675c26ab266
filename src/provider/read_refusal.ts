import { isTransient } from "../errors/errors.ts";
import type { ProviderRequest, ProviderResponse, Refused } from "./protocol.ts";
import { refusalFor } from "./refusals.ts";
import { quoted } from "../platform/secret.ts";

/**
 * Interprets a response without tokens. Understands every form in which services with this protocol
 * send error names and messages.
 *
 * @param problem Why a response with a 2xx status cannot be used.
 */
export function readRefusal(
  sent: Pick<ProviderRequest, "flow" | "secrets">,
  response: ProviderResponse,
  json: unknown,
  problem?: string,
): Refused {
  const { status, headers } = response;
  const quote = (text: string, length?: number) => quoted(text, sent.secrets, length);
  const { name, message } = errorIn(response, json);
  const { code, repeatable = isTransient(code), isFinal, advice } = refusalFor(
    sent.flow,
    response,
    name,
    message,
  );
  const requestId = headers.get("x-amzn-requestid") ?? headers.get("x-request-id");
  const providerCode = name === "" ? undefined : quote(name, 80);
  const shown = quote(message).replace(/\.$/, "") || "no message";
  const found = providerCode === undefined ? describe(response, json) : `${providerCode}: ${shown}`;
  return {
    kind: "refused",
    code,
    repeatable,
    isFinal,
    advice,
    seen: `status ${status}, ${problem === undefined ? found : quote(problem)}`,
    status,
    requestId: requestId === null ? undefined : quote(requestId, 80),
    providerCode,
    message: providerCode && shown,
  };
}

/**
 * Reads the name and the message of an error from the body's `__type` or `code`, the header, or
 * plain text.
 */
function errorIn(response: ProviderResponse, json: unknown): { name: string; message: string } {
  const { headers, text } = response;
  const [, code, message] = /^\s*([\w.#]+Exception)\b[:\s]*([^<]*)/.exec(text) ?? [];
  const body = typeof json === "object" && json !== null
    ? json as Record<string, unknown>
    : { code, message };
  const first = (...values: unknown[]) =>
    String(values.find((value) => typeof value === "string" && value !== "") ?? "");
  const named = first(body.__type, body.code, body.Code, headers.get("x-amzn-errortype"));
  // "com.example#Name" and "Name:http://…" both mean Name.
  const name = named.split("#").at(-1)?.split(":")[0]?.trim() ?? "";
  return { name, message: first(body.message, body.Message, body.error_description) };
}

/**
 * Describes the kind of a body. The body is not quoted, because it may repeat secrets of the
 * request.
 */
function describe({ status, text }: ProviderResponse, json: unknown): string {
  if (status >= 300 && status < 400) return "a redirect";
  if (/^\s*</.test(text)) return "an HTML or XML page";
  return json === undefined ? "text that is not complete JSON" : "JSON without an error name";
}
