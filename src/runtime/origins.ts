/** Whether a host name is this machine's loopback. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Whether a token or a password may travel to this URL: `https:`, or `http:` on loopback. */
export function isSafeTransport(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}
