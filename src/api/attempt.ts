/** Sends one request of a call, and writes it to the log. */
import { accessOf } from "./api_access.ts";
import { safeError } from "./network_error.ts";
import { methodOf, type PreparedCall } from "./prepared_call.ts";
import { Stalled } from "./idle.ts";
import { failureOf, type Log } from "../platform/log.ts";
import type { RequestEvent } from "../platform/log_event.ts";
import type { Tokens } from "../provider/tokens.ts";
import { directClient, isSafeTransport } from "../platform/transport.ts";

/**
 * Sends one request of a call.
 *
 * @param target The address of the request. After a redirect, it is not the address of the call.
 * @param attempt The number of the attempt, for the log. A redirect keeps the number.
 */
export function sendRequest(
  call: PreparedCall,
  tokens: Tokens,
  target: string,
  request: string | Request,
  init: RequestInit,
  attempt: number,
): Promise<Response> {
  call.onSend?.(target, tokens);
  const { log } = call.account.world;
  return log
    ? sendLogged(log, call, request, init, target, attempt)
    : sendOnce(call, request, init, target);
}

async function sendLogged(
  log: Log,
  call: PreparedCall,
  request: string | Request,
  init: RequestInit,
  target: string,
  attempt: number,
): Promise<Response> {
  const { world } = call.account;
  const started = world.monotonic();
  let result: Pick<RequestEvent, "status" | "error"> = {};
  try {
    const response = await sendOnce(call, request, init, target);
    result = { status: response.status };
    return response;
  } catch (error) {
    result = { error: error instanceof Stalled ? "API_TIMEOUT" : failureOf(error, init.signal) };
    throw error;
  } finally {
    const { origin, pathname } = new URL(target);
    log({
      event: "request",
      to: "api",
      method: methodOf(request, init),
      // The address of a redirect comes from the API, so its path may contain a secret.
      url: target === call.address ? origin + pathname : `${origin}/…`,
      ...result,
      milliseconds: Math.round(world.monotonic() - started),
      attempt,
    });
  }
}

async function sendOnce(
  call: PreparedCall,
  request: string | Request,
  init: RequestInit,
  target: string,
): Promise<Response> {
  const { world, settings } = call.account;
  const { fetch: send = fetch } = world;
  try {
    // Looking for a proxy in the environment would slow down every call, so `proxied` was set when
    // the settings were read.
    if (!accessOf(settings).proxied || send !== fetch) return await send(request, init);
    return await sendPastProxy(request, init, new URL(target));
  } catch (error) {
    throw safeError(error, init, new URL(target), call);
  }
}

/** Sends a request. If the address is on loopback with http:, the request does not use the proxy. */
async function sendPastProxy(
  request: string | Request,
  init: RequestInit,
  url: URL,
): Promise<Response> {
  using client = isSafeTransport(url) ? directClient(url) : undefined;
  return await fetch(request, { ...init, ...(client && { client }) });
}
