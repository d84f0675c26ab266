/** The settings that select the account: if one of them changes, tokens in memory are dropped. */
import { assertEquals } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { Configuration } from "../../src/session/configuration.ts";
import { withOnly } from "../support/bare_session.ts";

const PARTS = { region: "north-1", providerHost: "idp", providerDomain: "vendor.example" };
const WHOLE = { ...PARTS, authUrl: "https://provider.example" };
const STORE = { store: "redis://127.0.0.1", username: "ada" };

const CHANGES: [before: SessionOptions, change: SessionOptions, keepsTokens: boolean][] = [
  [PARTS, { region: "another" }, false],
  [PARTS, { providerDomain: "another.example" }, false],
  [PARTS, { authUrl: "https://another.example" }, false],
  [PARTS, { provider: "aws" }, false],
  // With authUrl, the parts of an endpoint have no effect.
  [WHOLE, { region: "another" }, true],
  [WHOLE, { clientId: "another" }, false],
  [WHOLE, { userPoolId: "another" }, false],
  [WHOLE, { token: () => Promise.resolve("another") }, false],
  [WHOLE, { username: "another", timeoutMs: 1_234 }, true],
  [WHOLE, STORE, false],
  [STORE, { storeKey: "another" }, false],
  // A store keeps one session for each user name.
  [STORE, { username: "grace" }, false],
];

Deno.test("changing the endpoint, the client or the store drops the tokens in memory", () =>
  withOnly({}, () => {
    for (const [before, change, keepsTokens] of CHANGES) {
      const [one, other] = [before, { ...before, ...change }].map((options) =>
        new Configuration("configure()", { envFile: false, ...options }, false)
      );
      assertEquals(other && one?.isSameAccount(other), keepsTokens, Object.keys(change).join());
    }
  }));
