import type { Words } from "../options.ts";

/** The header names and constants in a vendor's requests (section 4.1). */
export interface Dialect {
  readonly targetHeader: string;
  readonly service: string;
  readonly contentType: string;
  /**
   * Whether the body must contain the user pool id (section 2.1). The public protocol has no such
   * field.
   */
  readonly userPoolRequired: boolean;
}

export const DIALECTS: Readonly<Record<Words, Dialect>> = {
  vendor: {
    targetHeader: "X-Vendor-Target",
    service: "VendorIdentityProviderService",
    contentType: "application/x-vendor-json-1.1",
    userPoolRequired: true,
  },
  aws: {
    targetHeader: "X-Amz-Target",
    service: "AWSCognitoIdentityProviderService",
    contentType: "application/x-amz-json-1.1",
    userPoolRequired: false,
  },
};

/** A JSON object of a request or a response. */
export type Fields = Record<string, unknown>;

/** An error of the identity provider. Nearly all have status 400 and differ only in their code. */
export class ServiceError extends Error {
  override name = "ServiceError";

  constructor(readonly code: string, message: string, readonly status = 400) {
    super(message);
  }
}

/**
 * The most common error. The provider uses its code for many reasons, which only the message
 * distinguishes.
 */
export function notAuthorized(message: string): ServiceError {
  return new ServiceError("NotAuthorizedException", message);
}

/** An error about a field or its value. */
export function invalidParameter(message: string): ServiceError {
  return new ServiceError("InvalidParameterException", message);
}

/** A response with the provider's content type and a request id. */
export function serviceResponse(
  dialect: Dialect,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": dialect.contentType,
      "x-amzn-RequestId": crypto.randomUUID(),
      ...headers,
    },
  });
}

/** The response that reports an error. */
export function errorResponse(dialect: Dialect, error: ServiceError): Response {
  return serviceResponse(dialect, error.status, { __type: error.code, message: error.message }, {
    "x-amzn-ErrorType": `${error.code}:`,
    ...(error.status === 405 ? { allow: "POST" } : {}),
  });
}

/** Reads a field that must be a non-empty string. */
export function requiredText(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === null || value === "") {
    throw invalidParameter(`Missing required parameter ${name}`);
  }
  return optionalText(fields, name) ?? "";
}

/** Reads a field that must be an object. */
export function requiredFields(fields: Fields, name: string): Fields {
  const value = fields[name];
  if (isRecord(value)) return value;
  throw invalidParameter(`Missing required parameter ${name}`);
}

/** Reads an optional field that must be a string. */
export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") {
    throw new ServiceError("SerializationException", `${name} must be a string`);
  }
  return value;
}

/** Whether a value of a JSON body is an object. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
