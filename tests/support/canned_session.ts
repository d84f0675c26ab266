/** A session whose provider returns prepared responses. */
import { createSession, type SessionOptions } from "../../mod.ts";
import { type Canned, cannedFetch } from "./canned_fetch.ts";
import { Clock } from "./clock.ts";

/** Settings of a client with a secret. */
export const SETTINGS = {
  authUrl: "https://provider.example",
  clientId: "example-client",
  clientSecret: "example-client-secret",
  userPoolId: "example_Pool",
  username: "ada",
  password: "example-password",
};

/** A session whose provider returns these responses, on a clock that does not move by itself. */
export function cannedSession(options: SessionOptions, ...answers: [Canned, ...Canned[]]) {
  const time = new Clock();
  const { asked, fetch } = cannedFetch(...answers);
  const session = createSession({ ...SETTINGS, ...time.options, fetch, ...options });
  return { session, asked, time };
}

/** The same for a client without a secret. Its requests do not wait for a secret hash. */
export function publicSession(options: SessionOptions, ...answers: [Canned, ...Canned[]]) {
  return cannedSession({ clientSecret: "", ...options }, ...answers);
}
