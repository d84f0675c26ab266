import { assertEquals } from "@std/assert";
import { networkReason } from "../../src/platform/transport.ts";

const failures: [message: string, words: string, mayPass: boolean, isUnsent: boolean][] = [
  [
    "client error (Connect): tcp connect error: Connection refused (os error 111)",
    "the connection was refused",
    true,
    true,
  ],
  [
    "client error (Connect): dns error: failed to lookup address information",
    "the host name was not found",
    true,
    true,
  ],
  ["getaddrinfo ENOTFOUND a.example", "the host name was not found", true, false],
  [
    "client error (Connect): invalid peer certificate: UnknownIssuer",
    "no trusted TLS connection",
    false,
    true,
  ],

  [
    "client error (Connect): tunnel error: unsuccessful",
    "the proxy refused the connection",
    true,
    true,
  ],
  [
    "client error (Connect): Network is unreachable (os error 101)",
    "the network is unreachable",
    true,
    true,
  ],
  [
    "client error (SendRequest): connection closed before message completed",
    "the connection broke",
    true,
    false,
  ],
  ["self-signed certificate in certificate chain", "no trusted TLS connection", false, false],
  ["unable to verify the first certificate", "no trusted TLS connection", false, false],
  ["Requests to port 25 are blocked", "the runtime blocks this port", false, false],
];
for (const [message, words, mayPass, isUnsent] of failures) {
  Deno.test(`"${message}" is "${words}"`, () => {
    const cause = new Error(message);
    const error = new TypeError("error sending request for url (http://a.example/)", { cause });
    const { fix, ...reason } = networkReason(error);
    assertEquals(reason, { words, isKnown: true, isUnsent, mayPass });
    // The errors if a company's proxy presents its own certificate.
    const wantsTrust = /UnknownIssuer|self-signed|issuer|verify/.test(message);
    assertEquals(fix?.includes("DENO_TLS_CA_STORE=mozilla,system") ?? false, wantsTrust);
  });
}

Deno.test("an unknown network error is not quoted, and the request is repeated", () => {
  const unknown = {
    words: "the request failed",
    fix: undefined,
    isKnown: false,
    isUnsent: false,
    mayPass: true,
  };
  assertEquals(networkReason(new TypeError("something else")), unknown);
  assertEquals(networkReason("no error"), unknown);
});
