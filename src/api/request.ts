/** Checks the request of `fetchJson()` or a download. */
import type { ApiAccount } from "./account.ts";
import { checkedHeaders } from "./headers.ts";
import { addressOfCall, isPlainObject, methodOf } from "./prepared_call.ts";
import { typeError } from "../errors/errors.ts";

/** The request of a call whose response is checked by this module, not by the user. */
export interface ApiRequest {
  readonly input: string | URL | Request;
  readonly init: RequestInit;
  readonly method: string;
  /** Whether the request may be sent more than once. */
  readonly isSafe: boolean;
  /** The address with its query. */
  readonly address: string;
  /** The address without its query. The query of a presigned address is as secret as a token. */
  readonly url: string;
  /** The user's headers. */
  readonly headers: Headers;
}

/**
 * @throws {TypeError | ConfigError} If the request cannot be sent; `UNTRUSTED_ORIGIN` if its
 * address must not receive the token.
 */
export function requestOf(
  account: ApiAccount,
  input: string | URL | Request,
  init: RequestInit,
): ApiRequest {
  if (!isPlainObject(init)) throw typeError("The options of a call must be a plain object");
  const given = init.headers ?? (input instanceof Request ? input.headers : undefined);
  const headers = checkedHeaders(given);
  const address = addressOfCall(account, input);
  const { origin, pathname } = new URL(address);
  const method = methodOf(input, init);
  const isSafe = method === "GET" || method === "HEAD";
  return { input, init, method, isSafe, address, url: origin + pathname, headers };
}
