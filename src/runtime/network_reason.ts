/** What a failed `fetch` means, in words that hold neither URL nor header. */
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
