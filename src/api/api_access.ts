import { isSafeTransport, namesProxy } from "../runtime/transport.ts";
import { ConfigError } from "../values/errors.ts";
import { type Settings, VARIABLES } from "../settings/settings.ts";
import { mayUseVariable } from "../runtime/environment.ts";

/** Where the token may go, as the settings say. */
export interface ApiAccess {
  /** What relative paths are resolved against. */
  readonly base: URL | undefined;
  /** Origins that may receive the token. */
  readonly origins: ReadonlySet<string>;
  /** Why the `.env` could not be read. */
  readonly problem: ConfigError | undefined;
  /** Whether a proxy was named when the settings were read. */
  readonly proxied: boolean;
}

/** @throws {ConfigError} `INVALID_SETTING` if one of the two settings cannot be used. */
export function apiAccessOf(settings: Settings): ApiAccess {
  const baseText = settings.text("apiBaseUrl");
  const base = baseText === undefined ? undefined : usable("apiBaseUrl", baseText);
  const listed = (settings.text("allowedOrigins") ?? "").split(",").map((text) => text.trim())
    .filter((text) => text !== "").map((text) => usable("allowedOrigins", text));
  const urls = base === undefined ? listed : [base, ...listed];
  const origins = new Set(urls.map((url) => url.origin));
  return { base, origins, problem: settings.file.problem, proxied: namesProxy() };
}

function usable(name: "apiBaseUrl" | "allowedOrigins", text: string): URL {
  const url = URL.parse(text);
  const plain = url !== null && url.username === "" && url.password === "";
  if (plain && isSafeTransport(url) && !url.hostname.includes("*")) return url;
  throw new ConfigError(
    "INVALID_SETTING",
    `Cannot use ${
      VARIABLES[name]
    }: it must be an https: URL (http: only on this machine's loopback) ` +
      "without user name, password or *; correct it and try again",
  );
}

/**
 * The address of a call as text, if the token may go there.
 *
 * What begins with an allowed origin and a slash, and a path that begins with a slash and a letter or
 * digit, cannot lead elsewhere however it goes on, so it is not parsed here: `fetch` does it.
 *
 * @throws {ConfigError} As {@linkcode targetOf}.
 */
export function addressOf(input: string | URL | Request, access: ApiAccess): string {
  if (typeof input === "string") {
    if (access.base !== undefined && /^\/[A-Za-z0-9]/.test(input)) {
      return access.base.origin + input;
    }
    for (const origin of access.origins) {
      if (input.startsWith(origin) && input.charAt(origin.length) === "/") return input;
    }
  }
  return targetOf(input, access).href;
}

/**
 * The URL of a call, if the token may go there.
 *
 * @throws {ConfigError} `UNTRUSTED_ORIGIN` naming the setting to add, `MISSING_SETTINGS` for a relative path without a base.
 */
export function targetOf(input: string | URL | Request, access: ApiAccess): URL {
  const text = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
  const url = URL.parse(text, access.base);
  if (url === null) {
    if (access.base !== undefined) {
      throw new TypeError("authFetch() takes a path or a URL; this one cannot be parsed");
    }
    if (access.problem) throw access.problem;
    const unread = mayUseVariable("API_BASE_URL")
      ? ""
      : "; the environment could not be read, for that run with --allow-env";
    throw new ConfigError(
      "MISSING_SETTINGS",
      `Cannot resolve a relative path: missing API_BASE_URL (apiBaseUrl)${unread}; set it in the ` +
        ".env, in the environment or as an option",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw refusal(url, "a URL with user name or password would replace the token; leave them out");
  }
  if (!isSafeTransport(url)) {
    throw refusal(url, "the token travels over https: only (http: on this machine's loopback)");
  }
  if (!access.origins.has(url.origin)) {
    const setting = access.base === undefined
      ? `set API_BASE_URL (apiBaseUrl) to ${url.origin}, or add it`
      : `add ${url.origin}`;
    throw refusal(url, `to allow it, ${setting} to API_ALLOWED_ORIGINS (allowedOrigins)`);
  }
  return url;
}

function refusal(url: URL, next: string): ConfigError {
  const where = url.origin === "null" ? `a ${url.protocol} URL` : url.origin;
  return new ConfigError("UNTRUSTED_ORIGIN", `Cannot send the token to ${where}: ${next}`);
}
