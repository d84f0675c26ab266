import type { Secret } from "../values/secret.ts";

/** After a refresh that failed or did not help, calls go on without a new one for this long. */
const REST_MS = 30_000;

/** Remembers when not to refresh, so that a provider or an API in trouble is not asked at every call. */
export class RefreshRests {
  readonly #monotonic: () => number;
  #failureUntil = -Infinity;
  #rejectionUntil = -Infinity;
  #replaced: Secret | undefined;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Whether an early refresh failed a short while ago. */
  get afterFailure(): boolean {
    return this.#monotonic() < this.#failureUntil;
  }

  /** An early refresh failed; its token is still good. */
  noteFailure(): void {
    this.#failureUntil = this.#monotonic() + REST_MS;
  }

  /**
   * Whether a token that the API rejected may be replaced by a refresh: once, and not in the rest
   * after a replacement of which the API has not shown yet that it helped.
   */
  mayReplace(rejected: Secret): boolean {
    if (this.#replaced?.reveal() === rejected.reveal()) return false;
    if (this.#monotonic() < this.#rejectionUntil) return false;
    this.#replaced = rejected;
    this.#rejectionUntil = this.#monotonic() + REST_MS;
    return true;
  }

  /** The API took the new tokens. */
  noteHelp(): void {
    this.#rejectionUntil = -Infinity;
  }

  /** Ends all rests: there was a login or a logout. */
  end(): void {
    this.#failureUntil = this.#rejectionUntil = -Infinity;
    this.#replaced = undefined;
  }
}
