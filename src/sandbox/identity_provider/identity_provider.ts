/**
 * The identity provider of the sandbox: the token endpoint, its operations, its tokens and its key
 * set. It may import the files of `src/sandbox/` that hold options, accounts, failures and records,
 * never the API or the portal.
 *
 * @module
 */
import { confirmDevice, globalSignOut, revokeToken } from "./account_operations.ts";
import { getTokensFromRefreshToken, initiateAuth } from "./auth_flows.ts";
import { respondToAuthChallenge } from "./challenges/challenges.ts";
import { associateSoftwareToken, verifySoftwareToken } from "./challenges/software_token.ts";
import { type Failure, pause, takeFailure, withFailure } from "../failures.ts";
import { USER_POOL_ID } from "../options.ts";
import { addRecord, type TokenRequest } from "../records.ts";
import type { ProviderParts } from "./parts.ts";
import {
  type Dialect,
  DIALECTS,
  errorAnswer,
  type Fields,
  isRecord,
  serviceAnswer,
  ServiceError,
} from "./wire_format.ts";

/** What the provider needs beside what its operations work with. */
export interface IdentityProviderParts extends ProviderParts {
  readonly failures: Failure[];
  readonly requests: TokenRequest[];
}

type Operation = (
  parts: ProviderParts,
  body: Fields,
) => Fields | Promise<Fields>;

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

/** The identity provider as a function: token endpoint on `/` and the public key set. */
export function createIdentityProvider(
  parts: IdentityProviderParts,
): (request: Request, signal: AbortSignal) => Promise<Response> {
  const dialect = DIALECTS[parts.config.words];
  const throttle = createThrottle(parts.config.throttlePerSecond, parts.config.now);

  return async (request, signal) => {
    const path = new URL(request.url).pathname;
    if (KEY_SET_PATHS.includes(path) && request.method === "GET") {
      return Response.json(await parts.tokens.keySet());
    }
    const text = await request.text();
    const record = describe(request, text, dialect, parts.config.now());
    addRecord(parts.requests, record);
    const failure = takeFailure(parts.failures, "token");
    await pause(parts.config.latencyMs, signal);
    const answer = await withFailure(failure, signal, async () => {
      const own = await serve(request, path, text).catch((error: unknown) => {
        if (error instanceof ServiceError) return errorAnswer(dialect, error);
        throw error;
      });
      record.status = own.status;
      return own;
    });
    record.status = answer.status;
    return answer;
  };

  async function serve(request: Request, path: string, text: string): Promise<Response> {
    const operation = checkEnvelope(request, path, dialect);
    throttle();
    return serviceAnswer(dialect, 200, await operation(parts, parseBody(text)));
  }
}

/** Checks path, method and headers (section 4.1) and finds the operation. */
function checkEnvelope(request: Request, path: string, dialect: Dialect): Operation {
  if (path !== "/") {
    throw new ServiceError(
      "UnknownOperationException",
      `There is nothing at ${path}; the token endpoint has no path.`,
      404,
    );
  }
  if (request.method !== "POST") {
    throw new ServiceError(
      "UnknownOperationException",
      `The token endpoint takes POST only, not ${request.method}.`,
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

/** Refuses requests over the limit, counted over the last second. */
function createThrottle(limit: number | undefined, now: () => number): () => void {
  let recent: number[] = [];
  return () => {
    if (limit === undefined) return;
    const time = now();
    recent = recent.filter((each) => each > time - 1000);
    if (recent.length >= limit) {
      throw new ServiceError("TooManyRequestsException", "Rate exceeded");
    }
    recent.push(time);
  };
}

/** Records only what looks like a name: a secret in the wrong place is not recorded. */
function describe(request: Request, text: string, dialect: Dialect, now: number): TokenRequest {
  const target = request.headers.get(dialect.targetHeader) ?? "";
  const operation = /\.([A-Za-z]{1,40})$/.exec(target)?.[1] ?? "unknown";
  let authFlow: string | undefined;
  try {
    const body: unknown = JSON.parse(text);
    const flow = isRecord(body) ? body.AuthFlow : undefined;
    if (typeof flow === "string" && /^[A-Z_]{1,40}$/.test(flow)) authFlow = flow;
  } catch {
    authFlow = undefined;
  }
  return {
    operation,
    ...(authFlow === undefined ? {} : { authFlow }),
    status: 0,
    at: new Date(now),
  };
}
