/** Decides which addresses may receive the token. */
import { fixText } from "../errors/advice.ts";
import { mayUseVariable } from "../platform/environment.ts";
import { displayPath } from "../files/paths.ts";
import { isSafeTransport, namesProxy } from "../platform/transport.ts";
import { whyNoSettings } from "../settings/no_settings.ts";
import type { Settings } from "../settings/settings.ts";
import { ConfigError, typeError } from "../errors/errors.ts";

/** The addresses that may receive the token, according to the settings. */
export interface ApiAccess {
  /** The base of relative paths. Its path ends with a slash. */
  readonly base: URL | undefined;
  /**
   * The prefixes of the addresses that may receive the token: each allowed origin, followed by a
   * slash.
   */
  readonly prefixes: readonly string[];
  /** Whether an environment variable named a proxy when the settings were read. */
  readonly proxied: boolean;
  readonly settings: Settings;
}

const accesses = new WeakMap<Settings, ApiAccess>();

/** @throws {ConfigError} `INVALID_SETTING` if `apiBaseUrl` or `allowedOrigins` cannot be used. */
export function accessOf(settings: Settings): ApiAccess {
  let access = accesses.get(settings);
  if (access === undefined) accesses.set(settings, access = readAccess(settings));
  return access;
}

function readAccess(settings: Settings): ApiAccess {
  const baseText = settings.text("apiBaseUrl");
  const base = baseText === undefined ? undefined : usable("apiBaseUrl", baseText, settings);
  if (base && !base.pathname.endsWith("/")) base.pathname += "/";
  const listed = (settings.text("allowedOrigins") ?? "").split(",").map((text) => text.trim())
    .filter((text) => text !== "").map((text) => usable("allowedOrigins", text, settings));
  const urls = base === undefined ? listed : [base, ...listed];
  const prefixes = urls.map(({ origin }) => `${origin}/`);
  return { base, prefixes, proxied: namesProxy(), settings };
}

function usable(
  setting: "apiBaseUrl" | "allowedOrigins",
  text: string,
  settings: Settings,
): URL {
  const url = URL.parse(text);
  const plain = url !== null && url.username === "" && url.password === "";
  if (plain && isSafeTransport(url) && !url.hostname.includes("*")) return url;
  throw new ConfigError(
    "INVALID_SETTING",
    `Cannot use ${settings.placeOf(setting)}: ${shownAddress(text)} must be an https: address ` +
      "without user name, password or *; http: is allowed only for localhost",
    "correct it and try again",
  );
}

/**
 * Makes an address from the settings safe to show. The text may contain a password, or may be a
 * token instead of an address.
 */
function shownAddress(text: string): string {
  const bare = text.replace(/^([a-z]+:\/\/)?.*@/is, "$1").replace(/[?#].*/s, "");
  return /[\w~+=-]{32}|eyJ/.test(bare) ? "it" : JSON.stringify(bare);
}

/**
 * Returns the address of a call as text, if the token may be sent there.
 *
 * An address is allowed if it begins with an allowed origin and a slash: nothing after that slash
 * can change the host. Parsing takes longer than the rest of the call, so an address is parsed only
 * if its text does not pass this check.
 *
 * @throws {ConfigError} `UNTRUSTED_ORIGIN` if the token must not be sent to the address;
 * `MISSING_SETTINGS` if the address is a relative path and `API_BASE_URL` is not set.
 */
export function addressOf(input: string | URL | Request, access: ApiAccess): string {
  const { base, prefixes } = access;
  const given = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
  // A path such as "/v1/stations" is appended to the origin without parsing.
  const text = base !== undefined && /^\/[A-Za-z0-9]/.test(given) ? base.origin + given : given;
  if (isAllowed(text, prefixes)) return text;
  const url = URL.parse(text, base);
  if (url === null) throw unresolved(access);
  if (isAllowed(url.href, prefixes)) return url.href;
  throw refusal(url, access);
}

function isAllowed(address: string, prefixes: readonly string[]): boolean {
  for (const prefix of prefixes) if (address.startsWith(prefix)) return true;
  return false;
}

function unresolved({ base, settings }: ApiAccess): Error {
  if (base !== undefined) {
    return typeError("authFetch() takes a path or a URL; this address cannot be parsed");
  }
  if (settings.file.problem) return settings.file.problem;
  const { withheld } = settings.trust;
  if (withheld?.names.includes("apiBaseUrl")) {
    return new ConfigError(
      "UNTRUSTED_ORIGIN",
      `Cannot call the API: ${withheld.problem}`,
      withheld.fix,
    );
  }
  const unread = mayUseVariable("API_BASE_URL")
    ? ""
    : "; the environment could not be read without --allow-env";
  const none = whyNoSettings(settings);
  const file = settings.envFile === undefined || none
    ? ""
    : `in ${displayPath(settings.envFile)}, `;
  return new ConfigError(
    "MISSING_SETTINGS",
    `Cannot resolve a relative path: missing API_BASE_URL (apiBaseUrl)${unread}${
      none ? `; ${none.problem}` : ""
    }`,
    [
      ...(none ? [fixText(none.fix), "; or "] : []),
      `set it ${file}in the environment or as an option`,
    ],
  );
}

/**
 * Returns the path of `API_BASE_URL` if the call does not use it, because the call's own path
 * begins with a slash. Otherwise returns `undefined`.
 */
export function droppedPath(
  input: string | URL | Request,
  { base }: ApiAccess,
): string | undefined {
  const isFromHost = typeof input === "string" && /^\/[^/]/.test(input);
  const path = base?.pathname ?? "/";
  return isFromHost && !input.startsWith(path) ? path : undefined;
}

/** Makes the error for an address that must not receive the token. */
function refusal(url: URL, access: ApiAccess): ConfigError {
  const where = url.origin === "null" ? `a ${url.protocol} URL` : url.origin;
  const [why, fix] = whyRefused(url, access);
  return new ConfigError("UNTRUSTED_ORIGIN", `Cannot send the token to ${where}${why}`, fix);
}

function whyRefused(url: URL, { base, settings }: ApiAccess): [why: string, fix: string] {
  if (url.username !== "" || url.password !== "") {
    return [
      " because the user name or password in the URL would replace the token",
      "remove the user name and password from the URL",
    ];
  }
  const otherwise = "for addresses that need no token, use fetch()";
  if (!isSafeTransport(url)) {
    return [
      " because the token is sent only over https:; http: is allowed only for localhost",
      `use https:; ${otherwise}`,
    ];
  }
  const { withheld } = settings.trust;
  if (withheld?.names.some((name) => name === "apiBaseUrl" || name === "allowedOrigins")) {
    return [`: ${withheld.problem}`, withheld.fix];
  }
  const first = base === undefined
    ? `set API_BASE_URL (apiBaseUrl) to ${url.origin} or add it`
    : `add ${url.origin}`;
  return ["", `to allow it, ${first} to API_ALLOWED_ORIGINS (allowedOrigins); ${otherwise}`];
}
