/**
 * The web portal of the sandbox (section 4.3): a login with user name and password, the data sets,
 * and a user menu at the upper right. "Copy Token" in this menu puts `bearer
 * <ACCESS_TOKEN>` (section 2.3) on the clipboard. Two more pages replace the user's phone and
 * mailbox. All pages work without JavaScript, except for "Copy Token".
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "npm:hono@4.13.19";
import { deleteCookie, getCookie, setCookie } from "npm:hono@4.13.19/cookie";
import { TOTP } from "npm:otpauth@9.5.2";
import account from "./assets/account.css" with { type: "text" };
import backdrop from "./assets/backdrop.svg" with { type: "text" };
import client from "./assets/client.js" with { type: "text" };
import home from "./assets/home.css" with { type: "text" };
import login from "./assets/login.css" with { type: "text" };
import mark from "./assets/mark.svg" with { type: "text" };
import theme from "./assets/theme.css" with { type: "text" };
import token from "./assets/token.css" with { type: "text" };
import type { ProviderParts } from "../identity_provider/parts.ts";
import { authenticatorPage, messagesPage } from "./account_pages.ts";
import { homePage } from "./home_page.ts";
import { messagePage } from "./layout.ts";
import { loginPage } from "./login_page.ts";
import type { PortalSession, PortalSessions } from "./sessions.ts";

const ASSETS = {
  "backdrop.svg": ["image/svg+xml", backdrop],
  "mark.svg": ["image/svg+xml", mark],
  "portal.css": ["text/css; charset=utf-8", theme + login + home + token + account],
  "portal.js": ["text/javascript; charset=utf-8", client],
} as const;

/**
 * The referrer policy is `same-origin`. With `no-referrer`, browsers would send `Origin: null` with
 * a form, and {@linkcode isSameOrigin} would refuse the form.
 */
const SECURITY_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

interface Env {
  Variables: { session: PortalSession };
}

/** The parts of the sandbox that the portal needs. */
export interface PortalParts extends ProviderParts {
  readonly sessions: PortalSessions;
  /** Origin of the data platform API. */
  readonly apiUrl: string;
}

/** Returns the portal as a function from request to response. */
export function createPortal(
  { accounts, tokens, authenticators, sentCodes, sessions, config: { now }, apiUrl }: PortalParts,
): (request: Request) => Promise<Response> {
  const app = new Hono<Env>();

  app.use(async (context, next) => {
    if (context.req.method === "POST" && !isSameOrigin(context.req.raw)) {
      const text =
        "The request did not come from a page of this portal. Open the portal and try again.";
      context.res = await context.html(messagePage(403, "Request refused", text), 403);
    } else {
      await next();
    }
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.header(name, value);
  });

  const signedIn: MiddlewareHandler<Env> = async (context, next) => {
    const id = getCookie(context, cookieName(context));
    const session = sessions.find(id);
    if (session === undefined) {
      return context.redirect(id === undefined ? "/login" : "/login?notice=ended", 303);
    }
    context.set("session", session);
    return await next();
  };

  for (const [name, [type, body]] of Object.entries(ASSETS)) {
    app.get(`/assets/${name}`, (context) => context.body(body, 200, { "content-type": type }));
  }

  app.get("/login", (context) => context.html(loginPage({ notice: context.req.query("notice") })));

  app.post("/login", async (context) => {
    const username = (await formField(context, "username")).trim();
    const password = await formField(context, "password");
    const check = accounts.checkPassword(username, password);
    if (check.outcome === "ok" && check.account.status === "confirmed") {
      const name = cookieName(context);
      sessions.end(getCookie(context, name));
      const secure = name.endsWith("https");
      const { id } = sessions.start(check.account, username);
      setCookie(context, name, id, { httpOnly: true, sameSite: "Strict", secure });
      return context.redirect("/", 303);
    }
    if (check.outcome === "locked") {
      const error = `Too many failed attempts. Wait ${check.seconds} s, then try again.`;
      context.header("retry-after", String(check.seconds));
      return context.html(loginPage({ username, error }), 429);
    }
    const error = "The user name or the password is wrong. Check both and try again.";
    return context.html(loginPage({ username, error }), 422);
  });

  app.post("/logout", (context) => {
    sessions.end(deleteCookie(context, cookieName(context)));
    return context.redirect("/login?notice=signed-out", 303);
  });

  app.get("/", signedIn, (context) => {
    return context.html(homePage(context.get("session").displayName, apiUrl));
  });

  app.post("/token", signedIn, async (context) => {
    const { account } = context.get("session");
    const { accessToken, expiresAt } = await tokens.issue(account, now(), crypto.randomUUID());
    return context.json({ text: `bearer ${accessToken}`, expiresAt });
  });

  app.get("/authenticator", signedIn, (context) => {
    const { account, authenticatorSecret } = context.get("session");
    const code = authenticators.shownCode(account, authenticatorSecret);
    const secondsLeft = Math.ceil(TOTP.remaining({ timestamp: now() }) / 1000);
    if (code !== undefined) context.header("refresh", `${secondsLeft}`);
    return context.html(authenticatorPage(code));
  });

  app.post("/authenticator", signedIn, async (context) => {
    const session = context.get("session");
    const secret = (await formField(context, "secret")).trim();
    if (authenticators.shownCode(session.account, secret) !== undefined) {
      session.authenticatorSecret = secret;
      return context.redirect("/authenticator", 303);
    }
    const shown = authenticators.shownCode(session.account, session.authenticatorSecret);
    const error =
      "This is not a secret of an authenticator. Copy all of the text that the login showed.";
    return context.html(authenticatorPage(shown, error), 422);
  });

  app.get("/messages", signedIn, (context) => {
    const { username } = context.get("session").account;
    const own = sentCodes.list.filter((sent) => sent.username === username);
    return context.html(messagesPage(own.reverse()));
  });

  app.notFound((context) =>
    context.html(messagePage(404, "Page not found", "The portal has no page at this address."), 404)
  );
  return async (request) => await app.fetch(request);
}

/**
 * Browsers send a cookie to all ports of a host. The name of the cookie contains the port, so that
 * two sandboxes do not overwrite each other's cookie.
 */
function cookieName({ req }: Context<Env>): string {
  const { port, protocol } = new URL(req.url);
  return `portal-session-${port || protocol.slice(0, -1)}`;
}

/** Whether a POST comes from a page of this portal. Uses only headers that a page cannot set. */
function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  // Browsers do not send Sec-Fetch-Site over plain http, except to loopback.
  return request.headers.get("origin") === new URL(request.url).origin;
}

/** Reads a text field of a form. Returns an empty text if the field is missing. */
async function formField({ req }: Context<Env>, name: string): Promise<string> {
  const form = await req.formData().catch(() => new FormData());
  return String(form.get(name) ?? "");
}
