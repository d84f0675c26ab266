import { assertEquals } from "@std/assert";
import { isSafeTransport } from "../../src/http/transport.ts";

const addresses: [string, boolean][] = [
  ["https://api.example", true],
  ["http://localhost:8000", true],
  ["http://127.0.0.1:8000", true],
  ["http://127.255.0.3", true],
  ["http://[::1]:8000", true],
  // The runtime asks DNS for these, and a stranger may answer.
  ["http://api.localhost", false],
  ["http://127.0.0.1.example", false],
  ["http://128.0.0.1", false],
  ["http://[::2]", false],
  ["http://api.example", false],
  ["ws://localhost", false],
];
for (const [address, safe] of addresses) {
  Deno.test(`a token ${safe ? "may" : "never"} travel${safe ? "" : "s"} to ${address}`, () =>
    assertEquals(isSafeTransport(new URL(address)), safe));
}
