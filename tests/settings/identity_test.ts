/** The settings that select the account: if one of them changes, tokens in memory are dropped. */
import { assertEquals } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { Configuration } from "../../src/session/configuration.ts";
import { withOnly } from "../support/environment.ts";

const WHOLE = { authUrl: "https://provider.example", username: "ada" };
const STORE = { ...WHOLE, store: "redis://127.0.0.1" };

const CHANGES: [before: SessionOptions, change: SessionOptions, keepsTokens: boolean][] = [
  [WHOLE, { authUrl: "https://another.example" }, false],
  [WHOLE, { clientId: "another" }, false],
  [WHOLE, { userPoolId: "another" }, false],
  [WHOLE, { token: () => Promise.resolve("another") }, false],
  [WHOLE, { username: "another", timeoutMs: 1_234 }, true],
  [WHOLE, STORE, false],
  // A store keeps one session for each user name.
  [STORE, { username: "another" }, false],
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
