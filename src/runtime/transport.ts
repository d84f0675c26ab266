import { environment, mayUseVariable } from "../settings/settings.ts";

const PROXIES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/** Whether a variable names a proxy. */
export function namesProxy(): boolean {
  return PROXIES.some(environment);
}

/**
 * A client that reaches plain `http:`, which is this machine's loopback, without the proxy that
 * variables name: the runtime would show a token or a password to it. The caller closes the client.
 *
 * @returns `undefined` where no proxy is in the way.
 */
export function directClient(
  url: URL,
  options: Deno.CreateHttpClientOptions = {},
): Deno.HttpClient | undefined {
  if (url.protocol !== "http:" || !namesProxy()) return undefined;
  if (!mayUseVariable("NO_PROXY")) return undefined;
  const before = Deno.env.get("NO_PROXY");
  const others = before ?? environment("no_proxy");
  const hosts = ["127.0.0.1", "localhost", "::1", url.hostname.replace(/^\[|\]$/g, "")];
  // A client reads the variables once, when it is made.
  Deno.env.set("NO_PROXY", [...(others ? [others] : []), ...hosts].join(","));
  try {
    return Deno.createHttpClient(options);
  } finally {
    if (before === undefined) Deno.env.delete("NO_PROXY");
    else Deno.env.set("NO_PROXY", before);
  }
}
