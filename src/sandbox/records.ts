/** A request that the token endpoint received, without anything secret. */
export interface TokenRequest {
  /** The last word of the target header, or `"unknown"`. */
  operation: string;
  /** The body's `AuthFlow`, where it has one. */
  authFlow?: string;
  /** Status of the answer; 0 until it is given and when the connection was cut before. */
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
  /** Status of the answer; 0 until it is given and when the connection was cut before. */
  status: number;
  /** Whether a good access token came with it. */
  authorized: boolean;
  /** When it arrived, by the clock of the sandbox. */
  at: Date;
}
