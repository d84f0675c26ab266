/**
 * The identity provider of the sandbox: the token endpoint, its operations, its tokens and its key
 * set.
 *
 * @module
 */
import { confirmDevice, globalSignOut, revokeToken } from "./account_operations.ts";
import { getTokensFromRefreshToken, initiateAuth } from "./auth_flows.ts";
import { respondToAuthChallenge } from "./challenges/challenges.ts";
import { associateSoftwareToken, verifySoftwareToken } from "./challenges/software_token.ts";
import { type Failure, serveOrFail } from "../failures.ts";
import { USER_POOL_ID } from "../options.ts";
import { addRecord, type TokenRequest } from "../records.ts";
import type { ProviderParts } from "./parts.ts";
import {
  type Dialect,
  DIALECTS,
  errorResponse,
  type Fields,
  isRecord,
  ServiceError,
  serviceResponse,
} from "./wire_format.ts";

/** The parts that the provider needs in addition to the parts of its operations. */
export interface IdentityProviderParts extends ProviderParts {
  readonly failures: Failure[];
  readonly requests: TokenRequest[];
}

type Operation = (parts: ProviderParts, body: Fields) => Fields | Promise<Fields>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  InitiateAuth: initiateAuth,
  GetTokensFromRefreshToken: getTokensFromRefreshToken,
  RespondToAuthChallenge: respondToAuthChallenge,
  AssociateSoftwareToken: associateSoftwareToken,
  VerifySoftwareToken: verifySoftwareToken,
  ConfirmDevice: confirmDevice,
  RevokeToken: revokeToken,
  GlobalSignOut: globalSignOut,
};

const KEY_SET_PATHS = ["/.well-known/jwks.json", `/${USER_POOL_ID}/.well-known/jwks.json`];

/**
 * Returns the identity provider as a function from request to response: the token endpoint on `/`,
 * and the public key set.
 */
export function createIdentityProvider(
  parts: IdentityProviderParts,
): (request: Request, signal: AbortSignal) => Promise<Response> {
  const { failures, requests, config: { words, throttlePerSecond, latencyMs, now } } = parts;
  const dialect = DIALECTS[words];
  const throttle = createThrottle(throttlePerSecond, now);

  return async (request, signal) => {
    const path = new URL(request.url).pathname;
    if (KEY_SET_PATHS.includes(path) && request.method === "GET") {
      return Response.json(await parts.tokens.keySet());
    }
    const text = await request.text();
    const record = recordOf(request, text, dialect, now());
    addRecord(requests, record);
    const exchange = { at: "token", failures, latencyMs, signal, record } as const;
    return await serveOrFail(exchange, async () => {
      try {
        const operation = checkEnvelope(request, path, dialect);
        throttle();
        return serviceResponse(dialect, 200, await operation(parts, parseBody(text)));
      } catch (error) {
        if (error instanceof ServiceError) return errorResponse(dialect, error);
        throw error;
      }
    });
  };
}

/** Checks path, method and headers (section 4.1) and finds the operation. */
function checkEnvelope(request: Request, path: string, dialect: Dialect): Operation {
  if (path !== "/") {
    throw new ServiceError(
      "UnknownOperationException",
      `There is no resource at ${path}; the token endpoint has no path.`,
      404,
    );
  }
  if (request.method !== "POST") {
    throw new ServiceError(
      "UnknownOperationException",
      `The token endpoint accepts only POST, not ${request.method}.`,
      405,
    );
  }
  const type = request.headers.get("content-type");
  if (type !== dialect.contentType) {
    throw new ServiceError(
      "SerializationException",
      `Content-Type must be exactly ${dialect.contentType}${type === null ? "" : `, not ${type}`}.`,
    );
  }
  const target = request.headers.get(dialect.targetHeader);
  const [service, name = "", ...rest] = (target ?? "").split(".");
  const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (service !== dialect.service || rest.length > 0 || operation === undefined) {
    throw new ServiceError(
      "UnknownOperationException",
      `The header ${dialect.targetHeader} must be ${dialect.service}.InitiateAuth.`,
    );
  }
  return operation;
}

function parseBody(text: string): Fields {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ServiceError("SerializationException", "The body is not valid JSON.");
  }
  if (!isRecord(body)) {
    throw new ServiceError("SerializationException", "The body must be a JSON object.");
  }
  return body;
}

/** Refuses requests that exceed the limit, measured over the last second. */
function createThrottle(limit: number, now: () => number): () => void {
  let recent: number[] = [];
  return () => {
    const time = now();
    recent = recent.filter((each) => each > time - 1000);
    if (recent.length >= limit) {
      throw new ServiceError("TooManyRequestsException", "Rate exceeded");
    }
    recent.push(time);
  };
}

/**
 * Makes the record of a request. Records an operation or a flow only if it looks like a name: any
 * other text may be a secret that the client put in the wrong field.
 */
function recordOf(request: Request, text: string, dialect: Dialect, now: number): TokenRequest {
  const target = request.headers.get(dialect.targetHeader) ?? "";
  const operation = /\.([A-Za-z]{1,40})$/.exec(target)?.[1] ?? "unknown";
  const authFlow = /"AuthFlow"\s*:\s*"([A-Z_]{1,40})"/.exec(text)?.[1];
  return { operation, ...(authFlow && { authFlow }), status: 0, at: new Date(now) };
}
