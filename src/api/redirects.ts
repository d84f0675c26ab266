import { ConfigError, typeError } from "../errors/errors.ts";

export const MAX_REDIRECTS = 20;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that describe a body, and are dropped with it. */
const BODY_HEADERS = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-type",
];

/** A request with a body that received a redirect. */
export interface SentRequest {
  readonly address: string;
  readonly method: string;
  readonly init: RequestInit;
  /** Whether the body can be sent again: a stream cannot. */
  readonly isRepeatable: boolean;
}

export function isRedirect({ status, headers }: Response): boolean {
  return REDIRECTS.has(status) && headers.has("location");
}

/** Sets what the runtime sets when it follows a redirect itself. */
export function asRedirected(response: Response): Response {
  return Object.defineProperty(response, "redirected", { value: true });
}

/** Whether a redirect led to another origin, which did not receive the token. */
export function isElsewhere({ redirected, url }: Response, address: string): boolean {
  return redirected && URL.parse(url)?.origin !== new URL(address).origin;
}

/**
 * Follows redirects within the origin, as `fetch` would. The runtime's `fetch` would also send the
 * body to another origin, for which it was not meant.
 *
 * @param send Sends without following.
 * @throws {ConfigError} `UNTRUSTED_ORIGIN` for a redirect to another origin.
 * @throws {TypeError} For a body that cannot be sent again, and after 20 redirects.
 */
export async function followWithin(
  sent: SentRequest,
  first: Response,
  send: (address: string, init: RequestInit) => Promise<Response>,
): Promise<Response> {
  const { origin, pathname } = new URL(sent.address);
  let response = first;
  let url = new URL(sent.address);
  let init: RequestInit = { ...sent.init, method: sent.method };
  for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
    if (!isRedirect(response)) return asRedirected(response);
    const { status } = response;
    const target = URL.parse(response.headers.get("location") ?? "", url);
    await response.body?.cancel();
    const what = `Cannot follow the redirect of ${init.method} ${url.origin}${url.pathname}`;
    if (target?.origin !== origin || target.username || target.password) {
      const where = target?.origin ?? "an address that cannot be parsed";
      throw new ConfigError(
        "UNTRUSTED_ORIGIN",
        `${what} to ${where} (the request was sent, but a body is never sent on to another origin)`,
        "call that address directly, with fetch() or after adding it to API_ALLOWED_ORIGINS",
      );
    }
    if (status === 303 || (status < 303 && init.method === "POST")) {
      const headers = new Headers(init.headers);
      for (const name of BODY_HEADERS) headers.delete(name);
      init = { ...init, method: "GET", headers };
      delete init.body;
    } else if (!sent.isRepeatable && init.method !== "GET") {
      throw typeError(
        `${what} because its body is a stream and was sent already; send a string, bytes or a Blob`,
      );
    }
    url = target;
    response = await send(url.href, init);
  }
  await response.body?.cancel();
  throw typeError(`Cannot reach ${origin}${pathname} (too many redirects)`);
}
