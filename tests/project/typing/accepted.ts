/** Code that the compiler must accept. This file is checked, never run. */
import {
  accessToken,
  ApiError,
  type Ask,
  AuthError,
  type AuthErrorCode,
  authFetch,
  ChallengeError,
  computeSecretHash,
  ConfigError,
  type ConfigErrorCode,
  configure,
  createSession,
  type Diagnosis,
  doctor,
  type Download,
  download,
  downloadAll,
  type DownloadAllOptions,
  type DownloadOptions,
  type Downloads,
  fetchJson,
  type FetchJsonInit,
  login,
  logout,
  parsePortalToken,
  ProviderError,
  refresh,
  type Session,
  SessionExpiredError,
  type SessionExpiredErrorCode,
  type SessionOptions,
  type SessionRecord,
  type SessionStatus,
  type SessionStore,
  status,
} from "../../../mod.ts";
import { checkStore, startSandbox } from "../../../src/sandbox/mod.ts";

// authFetch goes wherever fetch goes.
export const asFetch: typeof fetch = authFetch;
export const session: Session = createSession();
export const asFetchToo: typeof fetch = session.authFetch;
export const answers: Promise<Response>[] = [
  authFetch("/v1/stations"),
  authFetch(new URL("https://api.example.com/"), { method: "POST", body: new FormData() }),
  createSession({}).authFetch(new Request("https://api.example.com/")),
];

// A store may be a class, and ignore what it does not need.
class Row implements SessionStore {
  #record?: SessionRecord;
  async read() {
    return await Promise.resolve(this.#record);
  }
  async update(change: (now?: SessionRecord) => Promise<SessionRecord | undefined>) {
    this.#record = await change(this.#record) ?? {};
  }
}
export const stored: Session = createSession({ store: new Row() });
export const checked: Promise<void> = checkStore(new Row(), { other: new Row() });

// Every option may be left out.
export const waysIn: Promise<SessionStatus>[] = [
  login(),
  login({ username: "ada", password: "" }),
  login({ strategy: "portal", force: true, signal: new AbortController().signal }),
  refresh(),
];
export const token: Promise<string> = accessToken({ minValidSeconds: 60 });
export const signedOut: Promise<SessionStatus>[] = [
  logout(),
  logout({ everywhere: true }),
];
export const diagnosis: Promise<Diagnosis> = doctor({ login: true });
export const hash: Promise<string> = computeSecretHash("user", "client", "secret");
export const bare: string = parsePortalToken("bearer eyJ");

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

// The settings of a sandbox are options.
export const sandboxed: Promise<SessionOptions> = startSandbox().then(({ settings }) => settings);

// A body has the type that the caller states.
const twice: FetchJsonInit = { retries: 2, retryWithinMs: 10_000, headers: { accept: "*/*" } };
export const names: Promise<{ name: string }[]> = fetchJson("/v1/stations", twice);
// As with Response.json(), a body without a stated type is any.
export const length: Promise<number> = fetchJson("/v1/stations").then((rows) => rows.length);
const into: DownloadOptions = {
  ifExists: "replace",
  resume: false,
  onProgress: ({ total = 0 }) => total,
};
export const saved: Promise<Download>[] = [
  download("/v1/file", "file.csv", into),
  session.download(new Request("https://api.example.com/"), new URL("file:///tmp/file.csv")),
];

// In a variable, the rows of a list have the type string[].
const pairs = [{ url: "/v1/a", name: "a.csv" }].map((row) => [row.url, row.name]);
async function* pieces() {
  yield [await Promise.resolve("/v1/a"), new URL("file:///tmp/a.csv")] as const;
}
const many: DownloadAllOptions = { concurrency: 8, ifExists: "keep", idleTimeoutMs: 0 };
export const all: Promise<Downloads>[] = [
  downloadAll(["a", "b"].map((id) => [`/v1/${id}`, `${id}.csv`]), many),
  downloadAll(pieces()),
  session.downloadAll(pairs),
];

// A narrowed type is known.
export function explained(error: unknown): string {
  if (error instanceof ProviderError) return `${error.status ?? "no answer"} ${error.attempts}`;
  if (error instanceof ApiError) return `${error.status} ${error.url} ${error.retryAfterSeconds}`;
  if (error instanceof ChallengeError) {
    const { asks, attempt, authenticator, refused } = error.challenge;
    const names: readonly (readonly string[] | undefined)[] = asks.map((each) => each.choices);
    const told = `${names.length} ${attempt} ${refused ?? ""} ${authenticator?.address ?? ""}`;
    return error.challenge.parameters["USER_ID"] ?? told;
  }
  if (error instanceof SessionExpiredError) return (error.code satisfies SessionExpiredErrorCode);
  if (error instanceof ConfigError) return (error.code satisfies ConfigErrorCode);
  if (!(error instanceof AuthError)) throw error;
  if (error.code === "API_UNREACHABLE") return error.fix;
  const code: AuthErrorCode = error.code;
  return code === "INTERRUPTED" ? "stopped" : error.message;
}
export async function unreachable(): Promise<string> {
  try {
    return await fetchJson("/v1/stations");
  } catch (error) {
    if (error instanceof AuthError && error.code === "API_UNREACHABLE") return error.problem;
    if (error instanceof TypeError) return error.message;
    throw error;
  }
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
