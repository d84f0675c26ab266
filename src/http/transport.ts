import { environment, mayUseVariable } from "../runtime/environment.ts";

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

/** Whether a host name is this machine's loopback. The runtime asks DNS for `*.localhost`: it may be anywhere. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Whether a token or a password may travel to this URL: `https:`, or `http:` on loopback. */
export function isSafeTransport(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/** Why a `fetch` failed, in words without URL and header; whether anything was sent, and whether a retry may help. */
export function networkReason(message: string): { words: string; unsent: boolean; retry: boolean } {
  const unsent = message.includes("(Connect)");
  const known: [RegExp, string][] = [
    [/connection refused/i, "the connection was refused"],
    [/dns error|lookup address/i, "the host name was not found"],
    [/certificate|UnknownIssuer|tls|corrupt message|handshake/i, "no trusted TLS connection"],
    [/proxy|tunnel/i, "the proxy refused the connection"],
    [/unreachable/i, "the network is unreachable"],
    [/reset|closed|broken pipe|incomplete|SendRequest/i, "the connection broke"],
    [/Requests to port/, "the runtime blocks this port"],
  ];
  const words = known.find(([pattern]) => pattern.test(message))?.[1] ?? "the request failed";
  const hopeless = words.includes("TLS") || words.includes("blocks");
  return { words, unsent, retry: !hopeless };
}
