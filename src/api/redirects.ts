/** Follows redirects. No token and no body is sent to another origin. */
import { ConfigError, typeError, UnreachableError } from "../errors/errors.ts";

const MAX_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Headers that are not sent to another origin. */
const PRIVATE_HEADERS = ["authorization", "proxy-authorization", "cookie"];

/** The fix for a redirect that the correct address would avoid. */
export const CORRECT_THE_ADDRESS =
  "check API_BASE_URL and the path: a missing or additional slash at its end, for example, causes such a redirect";

/** A request that received a redirect. */
export interface SentRequest {
  readonly address: string;
  readonly method: string;
  readonly init: RequestInit;
  /** Whether the body can be sent again. A stream cannot. */
  readonly isRepeatable: boolean;
}

export function isRedirect({ status, headers }: Response): boolean {
  return REDIRECTS.includes(status) && headers.has("location");
}

/** How redirects led to a server that responded, but did not receive the token. */
export interface Detour {
  /** The first origin to which a redirect led and where the token is not sent. */
  readonly origin: string;
  /** The host that responded. It is the API's own if a later redirect led back to the API. */
  readonly host: string;
}

const detours = new WeakMap<Response, Detour>();

/** Returns the detour; `undefined` if the server that responded received the token. */
export function detourOf(response: Response): Detour | undefined {
  return detours.get(response);
}

/**
 * Follows redirects as `fetch` does, but never sends a body to another origin, because the
 * user chose only the original one.
 *
 * @param send Sends a request without following redirects.
 * @throws {ConfigError} `UNTRUSTED_ORIGIN` if a request other than GET or HEAD is redirected to
 *   another origin.
 * @throws {UnreachableError} If the address cannot be used, or if there are more than 20 redirects.
 * @throws {TypeError} If the body cannot be sent again.
 */
export async function follow(
  sent: SentRequest,
  first: Response,
  send: (address: string, init: RequestInit) => Promise<Response>,
): Promise<Response> {
  const start = new URL(sent.address);
  let response = first;
  let url = start;
  let init: RequestInit = { ...sent.init, method: sent.method };
  let withoutToken: string | undefined;
  // The address of a redirect comes from the API, so its path may contain a secret.
  const what = `Cannot follow the redirect of ${sent.method} ${start.origin}${start.pathname}`;
  for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
    const { status } = response;
    const target = URL.parse(response.headers.get("location") ?? "", url);
    await response.body?.cancel();
    const isSafe = init.method === "GET" || init.method === "HEAD";
    if (target === null || !/^https?:$/.test(target.protocol)) {
      throw new UnreachableError(
        `${what}: the address in its Location header is not an http: or https: URL`,
        CORRECT_THE_ADDRESS,
      );
    }
    const headers = new Headers(init.headers);
    if (target.origin !== start.origin || target.username || target.password) {
      if (!isSafe) {
        throw new ConfigError(
          "UNTRUSTED_ORIGIN",
          `${what} to ${target.origin}: the API received the request, but the body is not sent to ` +
            "another origin",
          target.host === start.host
            ? CORRECT_THE_ADDRESS
            : "call that address directly, with fetch() or after adding it to API_ALLOWED_ORIGINS",
        );
      }
      for (const name of PRIVATE_HEADERS) headers.delete(name);
      withoutToken ??= target.origin;
    }
    init = { ...init, headers };
    if (!isSafe && (status === 303 || (status < 303 && init.method === "POST"))) {
      // The repeated request has no body, so the headers that describe a body are removed.
      for (const name of [...headers.keys()]) if (name.startsWith("content-")) headers.delete(name);
      init.method = "GET";
      delete init.body;
    } else if (!sent.isRepeatable && !isSafe) {
      throw typeError(
        `${what} because the request's body is a stream, which cannot be sent again; send a string, bytes or a Blob`,
      );
    }
    url = target;
    response = await send(url.href, init);
    // The runtime sets `redirected` only when it follows a redirect itself.
    if (!isRedirect(response)) {
      if (withoutToken) detours.set(response, { origin: withoutToken, host: url.host });
      return Object.defineProperty(response, "redirected", { value: true });
    }
  }
  await response.body?.cancel();
  throw new UnreachableError(
    `Cannot reach ${start.origin}${start.pathname} (too many redirects)`,
    CORRECT_THE_ADDRESS,
  );
}
