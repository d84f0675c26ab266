/**
 * The settings live here: options, environment and `.env`, where each came from, and the permissions
 * that follow from them. May import dotenv, runtime and values.
 */
import type { Ask } from "../runtime/world.ts";
import { typeError } from "../errors/errors.ts";
import { closest } from "../values/wording.ts";

/** Header names, content type and host parts, which differ between deployments of the same protocol (section 4.1). */
export interface ProviderWords {
  /** Name of the header that names the operation, such as `X-Vendor-Target`. */
  targetHeader: string;
  /** What stands before `.InitiateAuth` in that header, such as `VendorIdentityProviderService`. */
  service: string;
  /** The content type of request and answer, such as `application/x-vendor-json-1.1`. */
  contentType: string;
  /** First part of the endpoint's host name, where only a region is set. */
  host?: string;
  /** Last part of the endpoint's host name, where only a region is set. */
  domain?: string;
}

/**
 * Settings of a session. An option wins over the environment variable named beside it, the variable
 * over the line of that name in the `.env`.
 */
export interface SessionOptions {
  /** Path or file URL of the `.env`; `false`: memory only. Default: the nearest `.env` (`AUTH_ENV_FILE`, environment only). */
  envFile?: string | URL | false;
  /** The token endpoint, `https:` or loopback `http:` (`AUTH_URL`). */
  authUrl?: string;
  /** Deployment region, where no `authUrl` is set (`AUTH_REGION`). */
  region?: string;
  /** First part of the endpoint's host name (`AUTH_PROVIDER_HOST`). */
  providerHost?: string;
  /** Last part of the endpoint's host name (`AUTH_PROVIDER_DOMAIN`). */
  providerDomain?: string;
  /** Header names and content type of the requests (`AUTH_PROVIDER`). Default: `aws` on a host that ends in `.amazonaws.com`, else `vendor`. */
  provider?: "vendor" | "aws" | ProviderWords;
  /** The app client id of the subscription (`APP_CLIENT_ID`). */
  clientId?: string;
  /** The app client secret (`APP_CLIENT_SECRET`); explicitly empty: a public client, no SECRET_HASH. */
  clientSecret?: string;
  /** The user pool id of the subscription (`USER_POOL_ID`). */
  userPoolId?: string;
  /** The login name (`USERNAME`, from the environment only together with `PASSWORD`). */
  username?: string;
  /** The password (`PASSWORD`, from the environment only together with `USERNAME`). */
  password?: string;
  /** Whether a refresh carries SECRET_HASH (`AUTH_REFRESH_SECRET_HASH`). Default `auto`: find out. */
  refreshSecretHash?: "auto" | "send" | "omit";
  /** What relative `authFetch` paths are resolved against; its origin may receive the token (`API_BASE_URL`). */
  apiBaseUrl?: string | URL;
  /** Further origins that may receive the token (`API_ALLOWED_ORIGINS`, comma separated). */
  allowedOrigins?: string | readonly string[];
  /** Which tokens the default session puts into the process environment. Default `access`; `none` also reads none from there. */
  exportEnv?: "access" | "both" | "none";
  /** Deadline of one login or refresh in milliseconds, retries included (`AUTH_TIMEOUT_MS`). Default 30 000. */
  timeoutMs?: number;
  /**
   * A command that prints a token: bare, or JSON as `platform-auth token --json` prints (`AUTH_TOKEN_COMMAND`, never from a
   * `.env`). A text is split at blanks, with quotes; an array is taken as it is. No shell. Such a session never logs in,
   * refreshes or stores by itself.
   */
  tokenCommand?: string | readonly string[];
  /** `redis://` or `rediss://`: the session is shared there in place of the `.env` (`AUTH_STORE`, never from a `.env`). */
  store?: string;
  /** What the tokens in the store are encrypted with, from `platform-auth store-key` (`AUTH_STORE_KEY`, never from a `.env`). */
  storeKey?: string;
  /** Replaces `fetch`, for tests. */
  fetch?: typeof fetch;
  /** Replaces the wall clock, milliseconds since 1970, for tests. */
  now?: () => number;
  /** Replaces the monotonic clock, milliseconds, for tests. */
  monotonic?: () => number;
  /** Replaces the way the user is asked, for tests and other front ends. */
  prompt?: Ask;
  /** Replaces the pause between two attempts, milliseconds, for tests. Ends early when the signal aborts. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Replaces the signal that aborts after so many milliseconds, for tests. */
  timeout?: (ms: number) => AbortSignal;
  /** Replaces `Math.random` for pauses and margins, for tests. */
  random?: () => number;
}

const TYPES: Record<keyof SessionOptions, readonly string[]> = {
  envFile: ["string", "URL", "false"],
  authUrl: ["string"],
  region: ["string"],
  providerHost: ["string"],
  providerDomain: ["string"],
  provider: ["string", "object"],
  clientId: ["string"],
  clientSecret: ["string"],
  userPoolId: ["string"],
  username: ["string"],
  password: ["string"],
  refreshSecretHash: ["string"],
  apiBaseUrl: ["string", "URL"],
  allowedOrigins: ["string", "array of strings"],
  exportEnv: ["string"],
  timeoutMs: ["number"],
  tokenCommand: ["string", "array of strings"],
  store: ["string"],
  storeKey: ["string"],
  fetch: ["function"],
  now: ["function"],
  monotonic: ["function"],
  prompt: ["function"],
  sleep: ["function"],
  timeout: ["function"],
  random: ["function"],
};

/**
 * Checks option names and types: notebook cells are not type-checked.
 *
 * @throws {TypeError} Naming an option that is known or nearly so, never a value.
 */
export function checkOptions(
  caller: string,
  options: unknown,
  types: Readonly<Record<string, readonly string[]>> = TYPES,
): void {
  if (options === undefined) return;
  if (typeOf(options) !== "object") {
    throw typeError(`${caller} takes an options object, not ${typeOf(options)}`);
  }
  for (const [name, value] of Object.entries(options as Record<string, unknown>)) {
    const expected = types[name];
    if (expected === undefined) throw unknownOption(caller, name, Object.keys(types));
    if (value !== undefined && !expected.includes(typeOf(value))) {
      throw typeError(
        `${caller} takes ${expected.join(" or ")} as "${name}", not ${typeOf(value)}`,
      );
    }
  }
}

/** A name that is near to no option may be a secret in the wrong place, and is not quoted. */
function unknownOption(caller: string, given: string, known: readonly string[]): TypeError {
  const meant = closest(given, known);
  return typeError(
    meant === undefined
      ? `${caller} has no such option; it takes ${known.join(", ")}`
      : `${caller} has no option "${given}" (did you mean "${meant}"?)`,
  );
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === false) return "false";
  if (Array.isArray(value)) {
    return value.every((each) => typeof each === "string") ? "array of strings" : "array";
  }
  if (value instanceof URL) return "URL";
  if (value instanceof AbortSignal) return "AbortSignal";
  return typeof value;
}
