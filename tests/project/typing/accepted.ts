/** Code that the compiler must accept. This file is checked, never run. */
import {
  ApiError,
  AuthError,
  authFetch,
  ChallengeError,
  ConfigError,
  type ConfigErrorCode,
  createSession,
  downloadAll,
  type Downloads,
  fetchJson,
  ProviderError,
  type Session,
  SessionExpiredError,
  type SessionExpiredErrorCode,
} from "../../../mod.ts";

// authFetch can be passed wherever fetch can.
export const session: Session = createSession();
export const asFetch: (typeof fetch)[] = [authFetch, session.authFetch];

// A body has the type that the caller states; without one, it is any, as with Response.json().
export const names: Promise<{ name: string }[]> = fetchJson("/v1/stations");
export const length: Promise<number> = fetchJson("/v1/stations").then((rows) => rows.length);

// In a variable, the rows of a list have the type string[].
const pairs = [{ url: "/v1/a", name: "a.csv" }].map((row) => [row.url, row.name]);
export const all: Promise<Downloads> = downloadAll(pairs);

// The class of an error narrows its fields and codes.
export function explained(error: unknown): string {
  if (error instanceof ProviderError) return `${error.status ?? "no answer"} ${error.attempts}`;
  if (error instanceof ApiError) return `${error.status} ${error.url} ${error.retryAfterSeconds}`;
  if (error instanceof ChallengeError) return error.challenge.asks.map(({ name }) => name).join();
  if (error instanceof SessionExpiredError) return (error.code satisfies SessionExpiredErrorCode);
  if (error instanceof ConfigError) return (error.code satisfies ConfigErrorCode);
  // The error of an unreachable API is a TypeError that also has the fields of an AuthError.
  if (error instanceof AuthError && error.code === "API_UNREACHABLE") return error.problem;
  if (error instanceof TypeError) return error.message;
  if (!(error instanceof AuthError)) throw error;
  return error.code === "INTERRUPTED" ? "stopped" : error.fix;
}
