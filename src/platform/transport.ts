import { environment } from "./environment.ts";
import type { World } from "./world.ts";

const FOR_ALL = ["ALL_PROXY", "all_proxy"];
const FOR_HTTP = ["HTTP_PROXY", "http_proxy"];

/** The variables that set the proxy for `https:`, in the order in which the runtime reads them. */
export const HTTPS_PROXIES: readonly string[] = [...FOR_ALL, "HTTPS_PROXY", "https_proxy"];

/** Whether an environment variable sets a proxy for `http:`. */
export function namesProxy(): boolean {
  return [...FOR_HTTP, ...FOR_ALL].some(environment);
}

/** A proxy, as an environment variable sets it. */
interface UsedProxy {
  readonly variable: string;
  /** Host and port, without the user name and the password. */
  readonly host: string;
  readonly hasLogin: boolean;
}

/**
 * Returns the proxy through which the runtime sends requests to an address. A plain `http:` address
 * on loopback is reached directly; see `directClient()`.
 */
function proxyFor(url: URL): UsedProxy | undefined {
  const { protocol, hostname } = url;
  const isHttp = protocol === "http:";
  const exceptions = environment("NO_PROXY") ?? environment("no_proxy") ?? "";
  const isIp = /^[\d.]+$|^\[/.test(hostname);
  const isExcepted = exceptions.split(",").map((name) => name.trim().replace(/^\./, "")).some((
    name,
  ) =>
    // Whether a network such as 10.0.0.0/8 contains the address is not checked.
    name === "*" || `.${hostname}`.endsWith(`.${name}`) || (isIp && name.includes("/"))
  );
  if (isExcepted || (isHttp && isSafeTransport(url))) return undefined;
  for (const variable of isHttp ? [...FOR_ALL, ...FOR_HTTP] : HTTPS_PROXIES) {
    const value = environment(variable) ?? "";
    const bare = value.replace(/^.*@|^[a-z][a-z\d+.-]*:\/\//is, "");
    const host = bare && URL.parse(`http://${bare}`)?.host;
    if (host) return { variable, host, hasLogin: value.includes("@") };
  }
  return undefined;
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
  // The server itself is set as the proxy, because this option replaces the proxies in the
  // variables.
  const proxy = { transport: "tcp", hostname: host, port: Number(port || 80) } as const;
  return Deno.createHttpClient({ ...options, proxy });
}

/** Returns host and port of an address, including the default port of its protocol. */
export function hostAndPort({ hostname, port, protocol }: URL): string {
  const usual = protocol === "http:" ? "80" : protocol === "https:" ? "443" : REDIS_PORT;
  return `${hostname}:${port || usual}`;
}

const REDIS_PORT = "6379";

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

/** A pattern for the text of a network error, and the meaning of the error. */
interface KnownReason {
  readonly says: RegExp;
  readonly words: string;
  readonly fix?: string;
  /** Whether the problem persists until the user acts, so that a retry is useless. */
  readonly stays?: true;
  /** What the error means if a proxy was used. */
  ofProxy?(proxy: UsedProxy, words: string): { readonly words: string; readonly fix?: string };
}

/** No connection was made, so it is the proxy that was not reached. */
const unreached: KnownReason["ofProxy"] = ({ host, variable }, words) => ({
  words: `the proxy ${host} cannot be reached: ${words}`,
  fix: `check ${variable} and the network, or add the host to NO_PROXY if it needs no proxy`,
});

/** The known reasons, of which the first match is used. */
const REASONS: readonly KnownReason[] = [
  {
    says: /proxy authentication/i,
    words: "the proxy requires a user name and a password",
    stays: true,
    ofProxy: ({ host, variable, hasLogin }) => ({
      words: hasLogin
        ? `the proxy ${host} rejected the user name or the password in ${variable}`
        : `the proxy ${host} requires a user name and a password, which ${variable} does not contain`,
      fix:
        `set ${variable} to http://USER:PASSWORD@${host} before Deno starts, with special characters as %-codes`,
    }),
  },
  {
    says: /connection refused|ECONNREFUSED/i,
    words: "the connection was refused",
    ofProxy: unreached,
  },
  {
    says: /dns error|lookup address|ENOTFOUND|EAI_AGAIN/i,
    words: "the host name was not found",
    ofProxy: unreached,
  },
  { says: /unreachable/i, words: "the network is unreachable", ofProxy: unreached },
  {
    // Deno's `fetch` and its Node compatibility report this TLS error in different words.
    says: /UnknownIssuer|self-signed certificate|local issuer|verify the first certificate/i,
    words: "no trusted TLS connection",
    fix: "on a company computer, set DENO_TLS_CA_STORE=mozilla,system before Deno starts " +
      "(for a notebook: in the env of kernel.json), or set DENO_CERT to the file of the CA; then try again",
    stays: true,
  },
  {
    says: /certificate|tls|ssl|corrupt message|handshake/i,
    words: "no trusted TLS connection",
    stays: true,
  },
  {
    says: /proxy|tunnel/i,
    words: "the proxy refused the connection",
    ofProxy: ({ host }) => ({ words: `the proxy ${host} refused the connection` }),
  },
  { says: /reset|closed|broken pipe|incomplete|SendRequest/i, words: "the connection broke" },
  { says: /Requests to port/, words: "the runtime blocks this port", stays: true },
];

const UNKNOWN: Pick<KnownReason, "words" | "fix"> = { words: "the request failed" };

/**
 * Explains why a request got no response. The error's own text is not shown, because it may contain
 * addresses and headers.
 *
 * @param url The address of the request, if a proxy may have been used.
 * @param world Only the runtime's own `fetch` certainly uses the proxy in the environment.
 */
export function networkReason(
  error: unknown,
  url?: URL,
  world?: Pick<World, "fetch">,
): NetworkReason {
  const { message, cause } = error instanceof Error ? error : new Error();
  // The host in the address could contain a word such as "proxy" or "ssl".
  const text = `${message} ${cause instanceof Error ? cause.message : ""}`
    .replace(/ for url \(\S*\)/, "");
  const known = REASONS.find(({ says }) => says.test(text));
  const proxy = url && world?.fetch === undefined ? proxyFor(url) : undefined;
  const { words, fix } = (proxy && known?.ofProxy?.(proxy, known.words)) ?? known ?? UNKNOWN;
  return {
    words,
    fix,
    isKnown: known !== undefined,
    isUnsent: text.includes("(Connect)"),
    mayPass: known?.stays !== true,
  };
}
