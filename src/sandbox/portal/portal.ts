/**
 * The web portal of the sandbox: its pages, its sessions and, in `assets/`, its style and script. It
 * imports `records.ts` and nothing else outside this folder: accounts and tokens come in as a
 * `PortalBackend`.
 *
 * @module
 */
import account from "./assets/account.css" with { type: "text" };
import backdrop from "./assets/backdrop.svg" with { type: "text" };
import client from "./assets/client.js" with { type: "text" };
import home from "./assets/home.css" with { type: "text" };
import login from "./assets/login.css" with { type: "text" };
import mark from "./assets/mark.svg" with { type: "text" };
import theme from "./assets/theme.css" with { type: "text" };
import token from "./assets/token.css" with { type: "text" };
import {
  type PortalMessage,
  renderAuthenticator,
  renderMessages,
  type ShownCode,
} from "./account_pages.ts";
import {
  assetAnswer,
  isSameOrigin,
  jsonAnswer,
  pageAnswer,
  readSessionCookie,
  redirectAnswer,
  sessionCookie,
} from "./http.ts";
import { type Dataset, renderHome } from "./home_page.ts";
import { renderMessage } from "./layout.ts";
import { type LoginView, renderLogin } from "./login_page.ts";
import { type PortalSession, PortalSessions } from "./sessions.ts";

/** What the portal needs from the rest of the sandbox: accounts, tokens, a clock and names. */
export interface PortalBackend {
  /** Checks a password with the same rules as the token endpoint, lockout included. */
  authenticate(
    username: string,
    password: string,
  ): Promise<{ ok: true; username: string } | { ok: false; lockedSeconds?: number }>;
  /** Issues a bare access token, without the word `bearer`, for a user that is signed in. */
  issueAccessToken(username: string): Promise<{ accessToken: string; expiresAt: Date }>;
  /**
   * The code of an authenticator: of the one with this secret, given in base32 or as otpauth
   * address, else of the user's own. Undefined if there is none, or the text is no secret.
   */
  authenticatorCode(username: string, secret: string | undefined): ShownCode | undefined;
  /** What was sent to a user, the newest first. */
  messages(username: string): readonly PortalMessage[];
  /** Milliseconds since 1970, from the clock of the sandbox. */
  now(): number;
  /** Name of the platform, shown as the title of the pages. */
  platformName: string;
  /** Data sets to list after the sign-in. */
  datasets: readonly Dataset[];
  /** Origin of the data platform API. */
  apiUrl: string;
}

const style = theme + login + home + token + account;

/** Style sheet, script and pictures of the portal: path to text and content type. */
const ASSETS: ReadonlyMap<string, { body: string; contentType: string }> = new Map([
  ["/assets/backdrop.svg", { body: backdrop, contentType: "image/svg+xml" }],
  ["/assets/mark.svg", { body: mark, contentType: "image/svg+xml" }],
  ["/assets/portal.css", { body: style, contentType: "text/css; charset=utf-8" }],
  ["/assets/portal.js", { body: client, contentType: "text/javascript; charset=utf-8" }],
]);

type Handler = (request: Request) => Response | Promise<Response>;

/** A text field of a form; a missing field or a file counts as empty. */
function field(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}

function waitText(seconds: number): string {
  if (seconds < 120) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}

/**
 * The web portal of the sandbox (section 4.3 of the API document) as a function from request to
 * answer: a login with user name and password, the data sets, and a user menu at the upper right
 * whose "Copy Token" puts `bearer <ACCESS_TOKEN>` (section 2.3) on the clipboard.
 */
export function createPortal(
  backend: PortalBackend,
  sessions: PortalSessions = new PortalSessions(backend.now),
): (request: Request) => Promise<Response> {
  const { platformName, apiUrl, datasets } = backend;

  function currentSession(request: Request): PortalSession | undefined {
    return sessions.find(readSessionCookie(request));
  }

  function message(status: number, title: string, text: string, headers = {}): Response {
    return pageAnswer(renderMessage({ platformName, status, title, text }), { status, headers });
  }

  function forbidden(): Response {
    return message(
      403,
      "This request was not accepted",
      "It did not come from a page of this portal, or the page was too old. Open the portal again and retry.",
    );
  }

  function showLogin(request: Request): Response {
    if (currentSession(request)) return redirectAnswer("/");
    const notice = new URL(request.url).searchParams.get("notice") ?? undefined;
    return pageAnswer(renderLogin({ platformName, notice }));
  }

  async function logIn(request: Request): Promise<Response> {
    const form = await request.formData().catch(() => new FormData());
    const username = field(form, "username").trim();
    const password = field(form, "password");
    const refuse = (status: number, view: LoginView, headers = {}): Response =>
      pageAnswer(renderLogin(view), { status, headers });

    if (username === "" || password === "") {
      const error = "Enter your user name and your password.";
      return refuse(422, { platformName, username, error });
    }
    const outcome = await backend.authenticate(username, password);
    if (outcome.ok) {
      sessions.end(readSessionCookie(request));
      const session = sessions.start(outcome.username, username);
      return redirectAnswer("/", { "set-cookie": sessionCookie(request, session.id) });
    }
    if (outcome.lockedSeconds !== undefined) {
      const seconds = Math.max(1, Math.ceil(outcome.lockedSeconds));
      const error = `Too many failed attempts. Wait ${waitText(seconds)}, then try again.`;
      const view = { platformName, username, error, errorTitle: "Sign-in locked" };
      return refuse(429, view, { "retry-after": String(seconds) });
    }
    const error = "The user name or the password is wrong. Check both and try again.";
    return refuse(422, { platformName, username, error });
  }

  /** A page that only somebody who is signed in sees. */
  function own(render: (session: PortalSession) => Response): Handler {
    return (request) => {
      const session = currentSession(request);
      if (session) return render(session);
      const ended = readSessionCookie(request) !== undefined;
      return redirectAnswer(ended ? "/login?notice=ended" : "/login");
    };
  }

  const showHome = own((session) =>
    pageAnswer(renderHome({ platformName, apiUrl, datasets, session }))
  );

  function codeOf({ username, authenticatorSecret }: PortalSession): ShownCode | undefined {
    return backend.authenticatorCode(username, authenticatorSecret);
  }

  const showAuthenticator = own((session) =>
    pageAnswer(renderAuthenticator({ platformName, csrf: session.csrf, shown: codeOf(session) }))
  );

  async function setUpAuthenticator(request: Request): Promise<Response> {
    const session = currentSession(request);
    const form = await request.formData().catch(() => new FormData());
    if (!session || field(form, "csrf") !== session.csrf) return forbidden();
    const secret = field(form, "secret").trim();
    if (backend.authenticatorCode(session.username, secret) !== undefined) {
      session.authenticatorSecret = secret;
      return redirectAnswer("/authenticator");
    }
    const error = "This is no secret of an authenticator. Copy the whole text that the login told.";
    const view = { platformName, csrf: session.csrf, shown: codeOf(session), error };
    return pageAnswer(renderAuthenticator(view), { status: 422 });
  }

  function tellCode(request: Request): Response {
    const session = currentSession(request);
    const shown = session && codeOf(session);
    return shown ? jsonAnswer(shown) : jsonAnswer({ error: "no-code" }, { status: 401 });
  }

  const showMessages = own(({ username }) =>
    pageAnswer(renderMessages(platformName, backend.messages(username)))
  );

  async function logOut(request: Request): Promise<Response> {
    const session = currentSession(request);
    const form = await request.formData().catch(() => new FormData());
    if (session && field(form, "csrf") !== session.csrf) return forbidden();
    sessions.end(session?.id);
    return redirectAnswer("/login?notice=signed-out", { "set-cookie": sessionCookie(request, "") });
  }

  async function issueToken(request: Request): Promise<Response> {
    const session = currentSession(request);
    if (!session) return jsonAnswer({ error: "signed-out" }, { status: 401 });
    if (request.headers.get("x-csrf-token") !== session.csrf) {
      return jsonAnswer({ error: "csrf" }, { status: 403 });
    }
    const { accessToken, expiresAt } = await backend.issueAccessToken(session.username);
    return jsonAnswer({
      text: `bearer ${accessToken}`,
      expiresAt: expiresAt.toISOString(),
      // Counted here, as the browser's clock may differ from the sandbox's.
      secondsLeft: Math.round((expiresAt.getTime() - backend.now()) / 1000),
    });
  }

  const routes = new Map<string, Partial<Record<string, Handler>>>([
    ["/", { GET: showHome }],
    ["/login", { GET: showLogin, POST: logIn }],
    ["/logout", { POST: logOut }],
    ["/token", { POST: issueToken }],
    ["/authenticator", { GET: showAuthenticator, POST: setUpAuthenticator }],
    ["/authenticator/code", { GET: tellCode }],
    ["/messages", { GET: showMessages }],
  ]);
  for (const [path, { body, contentType }] of ASSETS) {
    routes.set(path, { GET: () => assetAnswer(body, contentType) });
  }

  async function respond(request: Request, method: string): Promise<Response> {
    const route = routes.get(new URL(request.url).pathname);
    if (!route) {
      return message(404, "Page not found", "There is nothing at this address.");
    }
    const handler = Object.hasOwn(route, method) ? route[method] : undefined;
    if (!handler) {
      const allow = Object.keys(route).map((name) => name === "GET" ? "GET, HEAD" : name).join(
        ", ",
      );
      const text = `This address answers ${allow} only, not ${request.method}.`;
      return message(405, "No page at this address", text, { allow });
    }
    if (method === "POST" && !isSameOrigin(request)) return forbidden();
    return await handler(request);
  }

  return async (request) => {
    if (request.method !== "HEAD") return await respond(request, request.method);
    const { status, headers } = await respond(request, "GET");
    return new Response(null, { status, headers });
  };
}
