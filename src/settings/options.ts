import type { LogEvent } from "../platform/log_event.ts";
import type { Ask } from "../platform/world.ts";
import { isSafeTransport } from "../platform/transport.ts";
import type { SessionStore } from "./session_store.ts";

/**
 * The header names and the content type of requests to a provider, which differ between deployments
 * of the protocol.
 */
export interface ProviderDialect {
  /** The header that contains the operation, such as `X-Vendor-Target`. */
  targetHeader: string;
  /** The prefix of the operation in that header, such as `VendorIdentityProviderService`. */
  service: string;
  /** The content type of requests and responses, such as `application/x-vendor-json-1.1`. */
  contentType: string;
  /** First part of the provider's host name, used with `region`. */
  host?: string;
  /** Last part of the provider's host name, used with `region`. */
  domain?: string;
}
/**
 * The settings of a session. An option overrides the environment variable in parentheses, which
 * overrides the line of the same name in the `.env`.
 */
export interface SessionOptions {
  /**
   * Path or file URL of the `.env`; `false`: memory only (`AUTH_ENV_FILE`, environment only).
   * Default: the nearest `.env` from the working folder up to the project root, or else the global
   * `.env`, which `platform-auth init --global` writes. With `createSession()`: memory only.
   */
  envFile?: string | URL | false;
  /** Address of the token endpoint, `https:` or loopback `http:` (`AUTH_URL`). */
  authUrl?: string;
  /** Region of the provider, if there is no `authUrl` (`AUTH_REGION`). */
  region?: string;
  /** First part of the provider's host name, used with `region` (`AUTH_PROVIDER_HOST`). */
  providerHost?: string;
  /** Last part of the provider's host name, used with `region` (`AUTH_PROVIDER_DOMAIN`). */
  providerDomain?: string;
  /**
   * The header names and content type of requests to the provider (`AUTH_PROVIDER`).
   *
   * - `vendor`: as in the API document of the platform, such as `X-Vendor-Target`.
   * - `aws`: those of Amazon Cognito, such as `X-Amz-Target`.
   *
   * Default: `aws` if the host ends in `.amazonaws.com` or `.amazonaws.com.cn`, otherwise `vendor`.
   */
  provider?: "vendor" | "aws" | ProviderDialect;
  /** The app client id of the subscription (`APP_CLIENT_ID`). */
  clientId?: string;
  /**
   * The app client secret (`APP_CLIENT_SECRET`, or a file in `APP_CLIENT_SECRET_FILE`). Empty for a
   * public client, which has no secret.
   */
  clientSecret?: string;
  /** The user pool id of the subscription (`USER_POOL_ID`). */
  userPoolId?: string;
  /** The user name (`USERNAME`; from the environment only together with `PASSWORD`). */
  username?: string;
  /**
   * The password (`PASSWORD`, or a file in `PASSWORD_FILE`; from the environment only together with
   * `USERNAME`).
   */
  password?: string;
  /**
   * Whether a refresh sends SECRET_HASH (`AUTH_REFRESH_SECRET_HASH`).
   *
   * - `auto` (default): finds out what the provider accepts, and remembers it.
   * - `send`: always, if there is a client secret.
   * - `omit`: never.
   */
  refreshSecretHash?: "auto" | "send" | "omit";
  /**
   * Address of the API (`API_BASE_URL`). Relative paths are resolved against this address, and its
   * origin may receive the token.
   */
  apiBaseUrl?: string | URL;
  /** Further origins that may receive the token (`API_ALLOWED_ORIGINS`, separated by commas). */
  allowedOrigins?: string | readonly string[];
  /**
   * Address of the portal, `https:` or loopback `http:` (`PORTAL_URL`). Prompts and messages that
   * ask for a portal string show the address.
   */
  portalUrl?: string | URL;
  /**
   * Which tokens the default session copies to the process environment.
   *
   * - `access` (default): the access token, as `ACCESS_TOKEN`.
   * - `both`: also the refresh token, as `REFRESH_TOKEN`.
   * - `none`: neither, and no token is read from the environment.
   */
  exportEnv?: "access" | "both" | "none";
  /**
   * Time limit for a login or a refresh, with its retries, in milliseconds (`AUTH_TIMEOUT_MS`). Each
   * further step of a login has the same limit. Default 30 000.
   */
  timeoutMs?: number;
  /**
   * Returns an access token that your program got elsewhere, with its expiry unless the token
   * states it. The session calls the function when it needs a token, shortly before that token
   * expires, and after a 401; between `logout()` and `login()`, it does not call the function. Such
   * a session itself never logs in at the provider, and never refreshes or stores tokens. `signal`
   * aborts when no caller waits any more, and at the latest after `timeoutMs`.
   */
  token?: (
    wait: { signal: AbortSignal },
  ) => Promise<string | { token: string; expiresAt?: Date }>;
  /**
   * Address of a Redis store that shares the session between machines, `redis://` or `rediss://`
   * (`AUTH_STORE`, environment only), or your own store. Replaces the `.env` as the place for
   * tokens.
   */
  store?: string | SessionStore;
  /**
   * The key that encrypts the tokens in the store: 32 bytes in base64, such as from
   * `openssl rand -base64 32` (`AUTH_STORE_KEY`, environment only).
   */
  storeKey?: string;
  /**
   * Receives what the session does: the settings that it read, why it refreshed tokens, where it
   * sent requests. An event contains no secret. `AUTH_LOG=1` (environment only) writes the events
   * as lines to standard error. An error of this function is ignored.
   */
  log?: (event: LogEvent) => void;
  /** Replaces `fetch`, for tests. */
  fetch?: typeof fetch;
  /** Replaces the wall clock for tests. Returns milliseconds since 1970. */
  now?: () => number;
  /** Replaces the monotonic clock for tests. Returns milliseconds. */
  monotonic?: () => number;
  /** Replaces the prompt, for tests and other front ends. */
  prompt?: Ask;
  /**
   * Replaces the pause of `ms` milliseconds before another attempt, for tests. The pause ends early
   * if the signal aborts.
   */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The rules of one setting. */
interface Rules {
  readonly variable: string;
  /** The value must not be shown. */
  readonly secret?: true;
  /** A `.env` must not set it, because the file may be part of a copied project. */
  readonly notInFile?: true;
  /** Every request to the provider needs the setting. */
  readonly required?: true;
}

/** All settings, in display order. */
const TABLE = {
  authUrl: { variable: "AUTH_URL" },
  region: { variable: "AUTH_REGION" },
  providerHost: { variable: "AUTH_PROVIDER_HOST" },
  providerDomain: { variable: "AUTH_PROVIDER_DOMAIN" },
  provider: { variable: "AUTH_PROVIDER" },
  clientId: { variable: "APP_CLIENT_ID", required: true },
  clientSecret: { variable: "APP_CLIENT_SECRET", secret: true, required: true },
  userPoolId: { variable: "USER_POOL_ID", required: true },
  username: { variable: "USERNAME" },
  password: { variable: "PASSWORD", secret: true },
  refreshSecretHash: { variable: "AUTH_REFRESH_SECRET_HASH" },
  apiBaseUrl: { variable: "API_BASE_URL" },
  allowedOrigins: { variable: "API_ALLOWED_ORIGINS" },
  portalUrl: { variable: "PORTAL_URL" },
  timeoutMs: { variable: "AUTH_TIMEOUT_MS" },
  store: { variable: "AUTH_STORE", notInFile: true },
  storeKey: { variable: "AUTH_STORE_KEY", secret: true, notInFile: true },
} satisfies { readonly [Name in keyof SessionOptions]?: Rules };

type Table = typeof TABLE;

/** The name of a setting, which is an option that has an environment variable. */
export type SettingName = keyof Table;

/** Name of a setting that must not be shown. */
export type SecretName = {
  [Name in SettingName]: Table[Name] extends { secret: true } ? Name : never;
}[SettingName];

/** The source of the value of a setting. */
export type SettingOrigin = "option" | "environment" | "file";

/** The rules of each setting, by name. */
export const SETTING_RULES: Readonly<Record<SettingName, Rules>> = TABLE;

/** The names of all settings, in the order of the table. */
export const SETTING_NAMES = Object.keys(SETTING_RULES) as SettingName[];

/** The settings that make up the address of the token endpoint, as a whole or in parts. */
export const ENDPOINT_NAMES = [
  "authUrl",
  "region",
  "providerHost",
  "providerDomain",
] as const satisfies readonly SettingName[];

/** The environment variable of each setting. */
export const VARIABLES = Object.fromEntries(
  SETTING_NAMES.map((name) => [name, SETTING_RULES[name].variable]),
) as Readonly<Record<SettingName, string>>;

/** The environment variable with the path of the `.env`. */
export const ENV_FILE_VARIABLE = "AUTH_ENV_FILE";

/** The types of an option's value, as messages describe them. */
type TypeName<Value> = Value extends string ? "string"
  : Value extends number ? "number"
  : Value extends false ? "false"
  : Value extends URL ? "URL"
  : Value extends readonly string[] ? "array of strings"
  : Value extends (...args: never) => unknown ? "function"
  : "object";

type OptionType<Name extends keyof SessionOptions> = TypeName<Required<SessionOptions>[Name]>;

/** The types of the options that are not strings, or not only strings. */
const OTHER_TYPES: {
  readonly [
    Name in keyof SessionOptions as OptionType<Name> extends "string" ? never : Name
  ]-?: readonly OptionType<Name>[];
} = {
  envFile: ["string", "URL", "false"],
  provider: ["string", "object"],
  apiBaseUrl: ["string", "URL"],
  allowedOrigins: ["string", "array of strings"],
  portalUrl: ["string", "URL"],
  timeoutMs: ["number"],
  token: ["function"],
  store: ["string", "object"],
  log: ["function"],
  fetch: ["function"],
  now: ["function"],
  monotonic: ["function"],
  prompt: ["function"],
  sleep: ["function"],
};

/** The types of all options, by name. */
export const OPTION_TYPES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries([...SETTING_NAMES, "exportEnv"].map((name) => [name, ["string"]])),
  ...OTHER_TYPES,
};

/** Returns an address that may receive a secret; `undefined` if the text is not one. */
export function safeAddress(text: string): string | undefined {
  const url = URL.parse(text);
  return url && isSafeTransport(url) && url.username + url.password === "" ? url.href : undefined;
}

/**
 * Returns the portal's address as a text for messages. If the address comes from the `.env`, the text
 * says so, because someone else may have written that file.
 */
export function portalText(
  address: string | undefined,
  origin: SettingOrigin | undefined,
): string | undefined {
  return address !== undefined && origin === "file" ? `${address} (set in the .env)` : address;
}

/** Default time limit of one login or refresh, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Parses `timeoutMs`, a whole number of milliseconds up to one hour. Returns `undefined` for any
 * other text.
 */
export function parseTimeout(text: string | undefined): number | undefined {
  const ms = text === undefined ? DEFAULT_TIMEOUT_MS : Number(text);
  return Number.isInteger(ms) && ms >= 1 && ms <= 3_600_000 ? ms : undefined;
}
