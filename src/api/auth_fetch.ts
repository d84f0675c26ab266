/**
 * Calls to the API begin here. `prepared_call.ts` checks a call, `api_access.ts` decides where the
 * token may be sent, and this file repeats a call and follows its redirects; `attempt.ts` sends each
 * request. `fetchJson()` and downloads send their calls through `checked_call.ts`.
 */
import type { ApiAccount } from "./account.ts";
import { sendRequest } from "./attempt.ts";
import { withToken } from "./headers.ts";
import {
  hasOwnBody,
  methodOf,
  type OnSend,
  prepare,
  type PreparedCall,
  withBodyRead,
} from "./prepared_call.ts";
import { detourOf, follow, isRedirect } from "./redirects.ts";
import { AuthError } from "../errors/errors.ts";
import { showCaller } from "../errors/stack.ts";
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
 * @param attempt The number of the caller's attempt, for the log.
 */
export async function fetchWithToken(
  given: ApiAccount,
  input: string | URL | Request,
  init: RequestInit | null | undefined,
  signal?: AbortSignal,
  onSend?: OnSend,
  attempt = 1,
): Promise<Response> {
  let call = prepare(given, input, init, signal, onSend);
  // `prepare()` may have reread the settings. If the account changed, only the new account has the
  // tokens for this address.
  const { account, address } = call;
  const aborts = call.init?.signal ?? undefined;
  let tokens = account.fresh() ?? await shownToCaller(account.tokens(0, aborts));
  if (hasOwnBody(call)) call = await withBodyRead(call, call.input);
  for (let replaced = 0;; replaced++) {
    // The runtime would send the body to any origin that a redirect names, so this module follows
    // redirects itself.
    const redirect = call.redirect === "follow" ? "manual" : call.redirect;
    const sent = { ...call.init, headers: withToken(call.headers, tokens), redirect };
    const first = await sendRequest(call, tokens, address, call.input, sent, attempt + replaced);
    const response = call.redirect === "follow" && isRedirect(first)
      ? await followRedirects(call, tokens, sent, first, attempt + replaced)
      : first;
    if (response.status !== 401) {
      if (replaced > 0) account.replacementHelped();
      // The API may reject a token for one path only, so a later success clears the recorded 401.
      if (response.ok && account.isRejected && !detourOf(response)) {
        account.noteResponse("accepted", tokens);
      }
      return response;
    }
    // A server that did not receive the token cannot reject it.
    if (detourOf(response)) return response;
    if (!call.isRepeatable || replaced === MAX_REPLACEMENTS) {
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
  }
}

function followRedirects(
  call: PreparedCall,
  tokens: Tokens,
  init: RequestInit,
  first: Response,
  attempt: number,
): Promise<Response> {
  const { address, input, isRepeatable } = call;
  return follow(
    { address, method: methodOf(input, init), init, isRepeatable },
    first,
    (target, next) => sendRequest(call, tokens, target, target, next, attempt),
  );
}

/**
 * Waits for work that several calls share. The stack of an error then shows this caller, not
 * the call that started the work.
 */
async function shownToCaller<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AuthError) showCaller(error);
    throw error;
  }
}
