import { environment } from "./environment.ts";

const FOR_ALL = ["ALL_PROXY", "all_proxy"];
const FOR_HTTP = ["HTTP_PROXY", "http_proxy"];

/** The variables that set the proxy for `https:`, in the order in which the runtime reads them. */
export const HTTPS_PROXIES: readonly string[] = [...FOR_ALL, "HTTPS_PROXY", "https_proxy"];

/** Whether an environment variable sets a proxy for `http:`. */
export function namesProxy(): boolean {
  return [...FOR_HTTP, ...FOR_ALL].some(environment);
}

/**
 * Makes a client that connects directly to a plain `http:` address on loopback, because a proxy
 * could read the token or the password in the request. Close the client after use.
 *
 * @returns `undefined` if the address is not `http:`, or if no variable sets a proxy.
 */
export function directClient(
  { protocol, hostname, port }: URL,
  options: Deno.CreateHttpClientOptions = {},
): Deno.HttpClient | undefined {
  if (protocol !== "http:" || !namesProxy()) return undefined;
  const host = hostname.replace(/^\[|\]$/g, "");
  // The server itself is set as the proxy, so that the proxies in the variables are not used.
  const proxy = { transport: "tcp", hostname: host, port: Number(port || 80) } as const;
  return Deno.createHttpClient({ ...options, proxy });
}

/** Returns host and port of a Redis server, including the default port. */
export function hostAndPort({ hostname, port }: URL): string {
  return `${hostname}:${port || 6379}`;
}

/**
 * Whether a host name is on this machine's loopback. `*.localhost` is not: Deno resolves it with
 * DNS.
 */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Whether a token or a password may be sent to this URL: `https:`, or `http:` on loopback. */
export function isSafeTransport(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/** A pattern for the text of a network error, and the meaning of the error. */
interface KnownReason {
  readonly says: RegExp;
  readonly words: string;
  readonly fix?: string;
  /** Whether the problem persists until the user acts, so that a retry is useless. */
  readonly stays?: true;
  /** Whether the host that could not be reached may be a proxy, if one is set. */
  readonly orProxy?: true;
}

const REFUSED: KnownReason = {
  says: /connection refused|ECONNREFUSED/i,
  words: "the connection was refused",
  orProxy: true,
};

/** The known reasons, of which the first match is used. */
const REASONS: readonly KnownReason[] = [
  {
    says: /proxy authentication/i,
    words: "the proxy requires a user name and a password, or rejected them",
    fix: "before Deno starts, set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT, with special " +
      "characters as %-codes; if ALL_PROXY is set, change that one instead",
    stays: true,
  },
  REFUSED,
  {
    says: /dns error|lookup address|ENOTFOUND|EAI_AGAIN/i,
    words: "the host name was not found",
    orProxy: true,
  },
  { says: /unreachable/i, words: "the network is unreachable", orProxy: true },
  {
    // Deno's `fetch` and its Node compatibility report this TLS error in different words.
    says: /UnknownIssuer|self-signed certificate|local issuer|verify the first certificate/i,
    words: "no trusted TLS connection",
    fix: "on a company computer, set DENO_TLS_CA_STORE=mozilla,system before Deno starts, or set " +
      "DENO_CERT to the file with the company's CA; for a notebook, set the variable in kernel.json",
    stays: true,
  },
  {
    says: /certificate|tls|ssl|corrupt message|handshake/i,
    words: "no trusted TLS connection",
    stays: true,
  },
  { says: /proxy|tunnel/i, words: "the proxy refused the connection" },
  { says: /reset|closed|broken pipe|incomplete|SendRequest/i, words: "the connection broke" },
  { says: /Requests to port/, words: "the runtime blocks this port", stays: true },
];

/** The reason why a request got no response. */
interface NetworkReason {
  /** The reason as a text for a message, without addresses and headers. */
  readonly words: string;
  /** The next step for the user. Default: check address, network and proxy. */
  readonly fix: string | undefined;
  /** Whether the reason is one of `REASONS`. */
  readonly isKnown: boolean;
  /** Whether no connection was made, so that nothing was sent. */
  readonly isUnsent: boolean;
  /** Whether the same request may succeed a little later. */
  readonly mayPass: boolean;
}

/**
 * Explains why a request got no response. The error's own text is not shown, because it may contain
 * addresses and headers.
 *
 * @param url The address of the request. Omit it if the request never uses a proxy.
 */
export function networkReason(error: unknown, url?: URL): NetworkReason {
  const { message, cause } = error instanceof Error ? error : new Error();
  // The host in the address could contain a word such as "proxy" or "ssl".
  const text = `${message} ${cause instanceof Error ? cause.message : ""}`
    .replace(/ for url \(\S*\)/, "");
  const known = REASONS.find(({ says }) => says.test(text));
  const words = known?.words ?? "the request failed";
  const isLocal = known === REFUSED && url !== undefined && isLoopback(url.hostname);
  const fix = isLocal
    ? `check whether the server on ${url.host}, such as the sandbox, is still running`
    : known?.fix;
  const proxy = known?.orProxy && url?.protocol === "https:" && HTTPS_PROXIES.find(environment);
  return {
    words: proxy ? `${words}, or the proxy in ${proxy} cannot be reached` : words,
    fix: proxy ? `check ${proxy}, the address and the network` : fix,
    isKnown: known !== undefined,
    isUnsent: text.includes("(Connect)"),
    mayPass: known?.stays !== true,
  };
}
