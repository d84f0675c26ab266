import type { Html } from "./html.ts";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/**
 * The referrer policy is `same-origin`, as with `no-referrer` browsers send `Origin: null` with a form
 * and {@linkcode isSameOrigin} could not recognize it. Other sites learn nothing either way.
 */
const SECURITY_HEADERS: Record<string, string> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Status and further headers of an answer. */
export interface AnswerOptions {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
}

function answer(body: string | null, options: AnswerOptions): Response {
  return new Response(body, {
    status: options.status ?? 200,
    headers: { "cache-control": "no-store", ...SECURITY_HEADERS, ...options.headers },
  });
}

/** A page. It is never cached, so that the back button shows nothing after a sign-out. */
export function pageAnswer(page: Html, options: AnswerOptions = {}): Response {
  const headers = { "content-type": "text/html; charset=utf-8", ...options.headers };
  return answer(page.toString().trimStart(), { ...options, headers });
}

/** Data for the script of a page. */
export function jsonAnswer(value: unknown, options: AnswerOptions = {}): Response {
  const headers = { "content-type": "application/json; charset=utf-8", ...options.headers };
  return answer(JSON.stringify(value), { ...options, headers });
}

/** A style sheet, script or picture. Browsers ask for it each time, as the next run may change it. */
export function assetAnswer(body: string, contentType: string): Response {
  return answer(body, { headers: { "content-type": contentType, "cache-control": "no-cache" } });
}

/** Redirects with a GET, so that a reload does not send a form again. */
export function redirectAnswer(location: string, headers: Record<string, string> = {}): Response {
  return answer(null, { status: 303, headers: { location, ...headers } });
}

/** Whether a POST comes from a page of this portal, by headers that a page cannot set. */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  // Browsers do not send Sec-Fetch-Site over plain http, except to loopback.
  return request.headers.get("origin") === new URL(request.url).origin;
}

/** Browsers send a cookie to all ports of a host, so each sandbox needs a name of its own. */
function cookieName(url: URL): string {
  return `portal-session-${url.port || url.protocol.slice(0, -1)}`;
}

/** The session id that the browser sent. */
export function readSessionCookie(request: Request): string | undefined {
  const prefix = `${cookieName(new URL(request.url))}=`;
  const pairs = (request.headers.get("cookie") ?? "").split(/;\s*/);
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length);
}

/** Value of a `set-cookie` header that stores the session id, or removes it when `id` is empty. */
export function sessionCookie(request: Request, id: string): string {
  const url = new URL(request.url);
  const attributes = ["Path=/", "HttpOnly", "SameSite=Strict"];
  if (url.protocol === "https:") attributes.push("Secure");
  if (id === "") attributes.push("Max-Age=0");
  return [`${cookieName(url)}=${id}`, ...attributes].join("; ");
}
