import { assertEquals } from "@std/assert";
import { networkReason } from "../../src/platform/transport.ts";

const CONNECT = "client error (Connect)";
const NO_HOST = "the host name was not found";
const NO_TRUST = "no trusted TLS connection";
const FAILURES: [message: string, words: string, mayPass: boolean, isUnsent: boolean][] = [
  [
    `${CONNECT}: tcp connect error: Connection refused (os error 111)`,
    "the connection was refused",
    true,
    true,
  ],
  [`${CONNECT}: dns error: failed to lookup address information`, NO_HOST, true, true],
  ["getaddrinfo ENOTFOUND a.example", NO_HOST, true, false],
  [`${CONNECT}: tunnel error: unsuccessful`, "the proxy refused the connection", true, true],
  [
    `${CONNECT}: Network is unreachable (os error 101)`,
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
  [`${CONNECT}: invalid peer certificate: UnknownIssuer`, NO_TRUST, false, true],
  ["self-signed certificate in certificate chain", NO_TRUST, false, false],
  ["unable to verify the first certificate", NO_TRUST, false, false],
  ["Requests to port 25 are blocked", "the runtime blocks this port", false, false],
];
for (const [message, words, mayPass, isUnsent] of FAILURES) {
  Deno.test(`networkReason() describes "${message}" as "${words}"`, () => {
    const cause = new Error(message);
    const error = new TypeError("error sending request for url (http://a.example/)", { cause });
    const { fix, ...reason } = networkReason(error);
    assertEquals(reason, { words, isKnown: true, isUnsent, mayPass });
    const advice = fix?.includes("DENO_TLS_CA_STORE=mozilla,system") ?? false;
    assertEquals(advice, words === NO_TRUST);
  });
}

for (const host of ["127.0.0.1:8410", "localhost:8410", "[::1]:8410", "provider.example"]) {
  Deno.test(`networkReason() mentions the sandbox only for a loopback host (${host})`, () => {
    const error = new TypeError("Connection refused (os error 111)");
    const { fix = "" } = networkReason(error, new URL(`http://${host}/`));
    assertEquals(fix.includes("sandbox") && fix.includes(host), host !== "provider.example");
  });
}

Deno.test("networkReason() allows a retry after an unknown error, but does not quote the error", () => {
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
