/** A request that the token endpoint received, without anything secret. */
export interface TokenRequest {
  /** The last part of the target header, or `"unknown"`. */
  operation: string;
  /** The body's `AuthFlow`, if it has one. */
  authFlow?: string;
  /**
   * Status of the response, even if the response was lost. The status is 0 if the request was
   * lost or has no response yet.
   */
  status: number;
  /** When the request arrived, by the clock of the sandbox. */
  at: Date;
}

/** A request that the API received, without anything secret. */
export interface ApiRequest {
  /** HTTP method. */
  method: string;
  /** Path without the query. */
  path: string;
  /**
   * Status of the response, even if the response was lost. The status is 0 if the request was
   * lost or has no response yet.
   */
  status: number;
  /** Whether the request had a valid access token. */
  authorized: boolean;
  /** When the request arrived, by the clock of the sandbox. */
  at: Date;
}

/** Size limit of each list and map of the sandbox. */
const RECORD_LIMIT = 10_000;

/** Adds a record to a list. If the list exceeds the limit, drops the oldest record. */
export function addRecord<T>(records: T[], record: T): void {
  if (records.push(record) > RECORD_LIMIT) records.shift();
}

/** Adds an entry to a map. If the map exceeds the limit, drops the oldest entry. */
export function addEntry<T>(entries: Map<string, T>, key: string, entry: T): void {
  entries.set(key, entry);
  if (entries.size <= RECORD_LIMIT) return;
  const [oldest = key] = entries.keys();
  entries.delete(oldest);
}
