/** A request that the token endpoint received, without anything secret. */
export interface TokenRequest {
  /** The last word of the target header, or `"unknown"`. */
  operation: string;
  /** The body's `AuthFlow`, where it has one. */
  authFlow?: string;
  /** Status of the answer; 0 before the answer, and if the connection was cut. */
  status: number;
  /** When it arrived, by the clock of the sandbox. */
  at: Date;
}

/** A request that the API received, without anything secret. */
export interface ApiRequest {
  /** HTTP method. */
  method: string;
  /** Path without the query. */
  path: string;
  /** Status of the answer; 0 before the answer, and if the connection was cut. */
  status: number;
  /** Whether it had a valid access token. */
  authorized: boolean;
  /** When it arrived, by the clock of the sandbox. */
  at: Date;
}

/** How many requests, refresh tokens and portal sessions are kept; the oldest are dropped. */
const RECORD_LIMIT = 10_000;

/** Adds a record to a list and drops the oldest one over the limit. */
export function addRecord<T>(records: T[], record: T): void {
  if (records.push(record) > RECORD_LIMIT) records.shift();
}

/** Adds an entry to a map and drops the oldest one over the limit. */
export function addEntry<T>(entries: Map<string, T>, key: string, entry: T): void {
  entries.set(key, entry);
  if (entries.size <= RECORD_LIMIT) return;
  const [oldest = key] = entries.keys();
  entries.delete(oldest);
}
