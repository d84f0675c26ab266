/** Code that the compiler must accept. This file is checked, never run. */
import {
  accessToken,
  ApiError,
  type Ask,
  AuthError,
  type AuthErrorCode,
  authFetch,
  ChallengeError,
  ConfigError,
  type ConfigErrorCode,
  configure,
  createSession,
  type Download,
  download,
  downloadAll,
  type DownloadAllOptions,
  type DownloadOptions,
  type Downloads,
  fetchJson,
  type FetchJsonInit,
  login,
  ProviderError,
  type Session,
  SessionExpiredError,
  type SessionExpiredErrorCode,
  type SessionRecord,
  type SessionStatus,
  type SessionStore,
  status,
} from "../../../mod.ts";
import { table } from "../../../src/notebook/mod.ts";
import { checkStore } from "../../../src/sandbox/mod.ts";

// authFetch can be passed wherever fetch can.
export const session: Session = createSession();
export const asFetch: (typeof fetch)[] = [authFetch, session.authFetch];
export const answer: Promise<Response> = authFetch(new URL("https://api.example.com/"), {
  method: "POST",
  body: new FormData(),
});

// A store may be a class whose methods take fewer parameters.
class Row implements SessionStore {
  #record?: SessionRecord;
  async read() {
    return await Promise.resolve(this.#record);
  }
  async lock() {
    return await Promise.resolve({
      write: async (record: SessionRecord) => {
        this.#record = await Promise.resolve(record);
      },
      async [Symbol.asyncDispose]() {},
    });
  }
}
export const stored: Session = createSession({ store: new Row() });
export const checked: Promise<void> = checkStore(() => new Row());

export const waysIn: Promise<SessionStatus>[] = [
  login({ username: "ada", password: "" }),
  login({ strategy: "portal", force: true, signal: new AbortController().signal }),
];
export const token: Promise<string> = accessToken({ minValidSeconds: 60 });

const ask: Ask = (message, { secret }) => secret ? null : message;
configure({
  envFile: new URL("file:///tmp/.env"),
  provider: { targetHeader: "X-Target", service: "Service", contentType: "application/json" },
  apiBaseUrl: new URL("https://api.example.com"),
  allowedOrigins: ["https://files.example.com"] as const,
  exportEnv: "none",
  prompt: ask,
  fetch: (input, init) => fetch(input, init),
  now: Date.now,
});

// A body has the type that the caller states; without one, it is any, as with Response.json().
const twice: FetchJsonInit = { retries: 2, retryWithinMs: 10_000, headers: { accept: "*/*" } };
export const names: Promise<{ name: string }[]> = fetchJson("/v1/stations", twice);
export const length: Promise<number> = fetchJson("/v1/stations").then((rows) => rows.length);

const into: DownloadOptions = {
  ifExists: "replace",
  resume: false,
  onProgress: ({ total = 0 }) => total,
};
export const saved: Promise<Download> = session.download(
  new Request("https://api.example.com/"),
  new URL("file:///tmp/file.csv"),
  into,
);
// In a variable, the rows of a list have the type string[].
const pairs = [{ url: "/v1/a", name: "a.csv" }].map((row) => [row.url, row.name]);
function* pieces() {
  yield ["/v1/a", new URL("file:///tmp/a.csv")] as const;
}
const many: DownloadAllOptions = { concurrency: 8, ifExists: "keep", idleTimeoutMs: 0 };
export const all: Promise<Downloads>[] = [downloadAll(pairs, many), downloadAll(pieces())];
export const one: Session["download"] = download;

// The class of an error narrows its fields and codes.
export function explained(error: unknown): string {
  if (error instanceof ProviderError) return `${error.status ?? "no answer"} ${error.attempts}`;
  if (error instanceof ApiError) return `${error.status} ${error.url} ${error.retryAfterSeconds}`;
  if (error instanceof ChallengeError) {
    const { asks, attempt, authenticator, parameters, refused } = error.challenge;
    const names: readonly (readonly string[] | undefined)[] = asks.map((each) => each.choices);
    return `${names} ${attempt} ${refused} ${authenticator?.address} ${parameters["USER_ID"]}`;
  }
  if (error instanceof SessionExpiredError) return (error.code satisfies SessionExpiredErrorCode);
  if (error instanceof ConfigError) return (error.code satisfies ConfigErrorCode);
  // The error of an unreachable API is a TypeError that also has the fields of an AuthError.
  if (error instanceof AuthError && error.code === "API_UNREACHABLE") return error.problem;
  if (error instanceof TypeError) return error.message;
  if (!(error instanceof AuthError)) throw error;
  const code: AuthErrorCode = error.code;
  return code === "INTERRUPTED" ? "stopped" : error.fix;
}
export function stateText({ state, source, accessTokenExpiresAt }: SessionStatus): string {
  switch (state) {
    case "none":
    case "valid":
    case "refreshable":
    case "expired":
    case "unknown":
    case "rejected":
      return `${source} ${accessTokenExpiresAt?.toISOString() ?? "-"}`;
  }
}
export const firstWarning: string | undefined = status().warnings[0];
export const tables = [
  table([{ id: 1, name: "a" }], { columns: ["id", "name"] }),
  table([[1, 2]], { columns: ["any", "name"] }),
  // deno-lint-ignore no-explicit-any -- as fetchJson() returns it
  table([{ id: 1 }] as any, { columns: ["id"] }),
];
