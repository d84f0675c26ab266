/** What `fetchJson()` and downloads need in order to call the API. */
import type { ApiAccount } from "./account.ts";
import { accessOf, droppedPath } from "./api_access.ts";
import { fetchWithToken } from "./auth_fetch.ts";
import { addressOfCall, type OnSend } from "./prepared_call.ts";
import type { Advice } from "../errors/advice.ts";
import type { Timing } from "../platform/world.ts";

/**
 * What `fetchJson()` and downloads need of a session: a `fetch` that adds the token, a clock, and
 * what an error says about an address or a failed refresh.
 */
export interface Api {
  readonly timing: Timing;
  /** Sends a call with a current token. */
  fetch(
    input: string | URL | Request,
    init: RequestInit,
    signal: AbortSignal,
    onSend: OnSend,
    attempt: number,
  ): Promise<Response>;
  /**
   * Returns the address of a call.
   * @throws {ConfigError} `UNTRUSTED_ORIGIN` if the token must not be sent to the address;
   * `MISSING_SETTINGS` if the address is a relative path and `API_BASE_URL` is not set.
   */
  addressOf(input: string | URL | Request): string;
  /** The path of `API_BASE_URL`, if the path of the call replaces it. */
  droppedPath(input: string | URL | Request): string | undefined;
  /** Why the refresh after the API's 401 failed; `undefined` if it did not fail. */
  refreshFailure(): Advice | undefined;
}

/** Returns the API as the user of an account calls it. */
export function apiOf(account: ApiAccount): Api {
  return {
    get timing() {
      return account.world;
    },
    fetch: (...call) => fetchWithToken(account, ...call),
    addressOf: (input) => addressOfCall(account, input),
    droppedPath: (input) => droppedPath(input, accessOf(account.settings)),
    refreshFailure: () => account.refreshFailure,
  };
}
