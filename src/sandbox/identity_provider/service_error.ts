import type { WireWords } from "./words.ts";

/** An error answer of the identity provider: nearly all have status 400 and differ by name. */
export class ServiceError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.name = "ServiceError";
    this.code = code;
    this.status = status;
  }
}

/** An answer with the provider's content type and request id. */
export function serviceAnswer(
  words: WireWords,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": words.contentType,
      "x-amzn-RequestId": crypto.randomUUID(),
      ...headers,
    },
  });
}

/** The answer that reports an error. */
export function errorAnswer(words: WireWords, error: ServiceError): Response {
  return serviceAnswer(words, error.status, { __type: error.code, message: error.message }, {
    "x-amzn-ErrorType": `${error.code}:`,
    ...(error.status === 405 ? { allow: "POST" } : {}),
  });
}

/** Reads a field that must be a text. */
export function requiredText(fields: Record<string, unknown>, name: string): string {
  const value = fields[name];
  if (value === undefined || value === null || value === "") {
    throw new ServiceError("InvalidParameterException", `Missing required parameter ${name}`);
  }
  return optionalText(fields, name) ?? "";
}

/** Reads a field that may be missing, but must be a text when it is there. */
export function optionalText(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") {
    throw new ServiceError("SerializationException", `${name} must be a string`);
  }
  return value;
}

/** Tells an object of a JSON body from the other values. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
