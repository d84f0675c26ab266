/**
 * Calls to the API begin here. `prepared_call.ts` checks a call, `api_access.ts` decides where the
 * token may be sent, and this file repeats a call and follows its redirects; `attempt.ts` sends each
 * request. `fetchJson()` (`fetch_json.ts`) and downloads (`download/`) call the `fetch` in `api.ts`.
 */
import type { ApiAccount } from "./account.ts";
import { sendRequest } from "./attempt.ts";
import { withToken } from "./headers.ts";
import {
  hasOwnBody,
  type OnSend,
  prepare,
  type PreparedCall,
  withBodyRead,
} from "./prepared_call.ts";
import { follow, isElsewhere, isRedirect } from "./redirects.ts";
import { shownToCaller } from "../errors/errors.ts";
import type { Tokens } from "../provider/tokens.ts";

/**
 * Another process may have saved the first replacement. If the API rejects that token too, the
 * second replacement comes from a refresh.
 */
const MAX_REPLACEMENTS = 2;

/**
 * Sends a call with a current token. If the API responds with 401, replaces the token and sends the
 * call again, at most twice.
 *
 * @param signal Cancels the call, instead of the signal in `input` or `init`.
 */
export async function fetchWithToken(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal?: AbortSignal,
  onSend?: OnSend,
): Promise<Response> {
  let call = prepare(given, input, init, signal, onSend);
  // `prepare()` may have reread the settings. If the account changed, only the new account has the
  // tokens for this address.
  const { account } = call;
  const aborts = call.init?.signal ?? undefined;
  let tokens = account.fresh() ?? await shownToCaller(account.tokens(0, aborts));
  if (hasOwnBody(call)) call = await withBodyRead(call, call.input);
  let response = await send(call, tokens);
  for (let tries = 1; response.status === 401; tries++) {
    if (isElsewhere(response, call.address)) return response;
    if (!call.isRepeatable || tries > MAX_REPLACEMENTS) {
      account.noteResponse("rejected", tokens);
      return response;
    }
    const renewed = await shownToCaller(account.replaceRejected(tokens, aborts)).catch(
      (error) => {
        response.body?.cancel().catch(() => {});
        throw error;
      },
    );
    if (renewed === undefined) return response;
    await response.body?.cancel();
    tokens = renewed;
    response = await send(call, tokens);
    if (response.status !== 401) account.replacementHelped();
  }
  // The API may reject a token for one path only, so a later success clears the recorded 401.
  if (response.ok && account.isRejected && !isElsewhere(response, call.address)) {
    account.noteResponse("accepted", tokens);
  }
  return response;
}

/** Sends a call, and follows redirects. */
async function send(call: PreparedCall, tokens: Tokens): Promise<Response> {
  const { address, input, isRepeatable } = call;
  const init: RequestInit = { ...call.init, headers: withToken(call.headers, tokens) };
  const asRequest = input instanceof Request ? input : undefined;
  if ((init.redirect ?? asRequest?.redirect ?? "follow") !== "follow") {
    return await sendRequest(call, tokens, address, input, init);
  }
  // The runtime would send the body to any origin that a redirect names, so this module follows
  // redirects itself.
  init.redirect = "manual";
  const response = await sendRequest(call, tokens, address, input, init);
  if (!isRedirect(response)) return response;
  const method = init.method?.toUpperCase() ?? asRequest?.method ?? "GET";
  return await follow(
    { address, method, init, isRepeatable },
    response,
    (target, next) => sendRequest(call, tokens, target, target, next),
  );
}
