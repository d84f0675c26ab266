/**
 * Plain HTTP, whoever is asked: which transport is safe and how to get past a proxy (here), pauses
 * between tries (`backoff.ts`), and the end of a request that brings nothing (`idle.ts`). May import runtime, errors and values.
 */
import { environment, mayUseVariable } from "./environment.ts";

const PROXIES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/** Whether a variable names a proxy. */
export function namesProxy(): boolean {
  return PROXIES.some(environment);
}

/**
 * A client that reaches plain `http:`, which is this machine's loopback, without the proxy that
 * variables name: the runtime would show a token or a password to it. Close it after use.
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

/**
 * Whether a host name is this machine's loopback. The runtime asks DNS for `*.localhost`: it may be
 * anywhere.
 */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Whether a token or a password may travel to this URL: `https:`, or `http:` on loopback. */
export function isSafeTransport(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/** Why a request got no answer. */
interface NetworkReason {
  /** For people; without address and header. */
  readonly words: string;
  /** What to do, where checking address, network and proxy does not help. */
  readonly fix: string | undefined;
  /** Whether the reason is in the table below. */
  readonly isKnown: boolean;
  /** Whether no connection was made, so that nothing was sent. */
  readonly isUnsent: boolean;
  /** Whether the same request may succeed a little later. */
  readonly mayPass: boolean;
}

/** What an error of the network says, and what that means. */
interface KnownReason {
  readonly says: RegExp;
  readonly words: string;
  readonly fix?: string;
  /** Whether it stays until somebody does something. */
  readonly stays?: true;
}

/** The first that fits counts. */
const REASONS: readonly KnownReason[] = [
  { says: /connection refused|ECONNREFUSED/i, words: "the connection was refused" },
  { says: /dns error|lookup address|ENOTFOUND|EAI_AGAIN/i, words: "the host name was not found" },
  {
    // The runtime's word, and those of its TLS for packages of Node's.
    says: /UnknownIssuer|self-signed certificate|local issuer|verify the first certificate/i,
    words: "no trusted TLS connection",
    fix: "on a computer of a company set DENO_TLS_CA_STORE=mozilla,system before Deno starts " +
      "(for a notebook: in the env of kernel.json), else name the CA's file in DENO_CERT; then try again",
    stays: true,
  },
  {
    says: /certificate|tls|ssl|corrupt message|handshake/i,
    words: "no trusted TLS connection",
    stays: true,
  },
  { says: /proxy|tunnel/i, words: "the proxy refused the connection" },
  { says: /unreachable/i, words: "the network is unreachable" },
  { says: /reset|closed|broken pipe|incomplete|SendRequest/i, words: "the connection broke" },
  { says: /Requests to port/, words: "the runtime blocks this port", stays: true },
];

/** Why a request got no answer. The text of the error is not shown: it may hold addresses and headers. */
export function networkReason(error: unknown): NetworkReason {
  const { message, cause } = error instanceof Error ? error : new Error();
  const text = `${message} ${cause instanceof Error ? cause.message : ""}`;
  const known = REASONS.find(({ says }) => says.test(text));
  return {
    words: known?.words ?? "the request failed",
    fix: known?.fix,
    isKnown: known !== undefined,
    isUnsent: text.includes("(Connect)"),
    mayPass: known?.stays !== true,
  };
}
