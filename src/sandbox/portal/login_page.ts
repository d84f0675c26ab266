import { type Html, html } from "./html.ts";
import { FOOTER, ICONS, layout, MARK } from "./layout.ts";

/** What the login page shows. */
export interface LoginView {
  platformName: string;
  /** The name typed before, kept after a failed attempt. */
  username?: string;
  /** Why the last attempt failed. */
  error?: string;
  /** Title of the page with `error`, default "Sign-in failed". */
  errorTitle?: string;
  /** Why the login page is shown: `signed-out` or `ended`. */
  notice?: string | undefined;
}

const NOTICES = new Map([
  ["signed-out", "You are signed out."],
  ["ended", "Your session has ended. Sign in again."],
]);

/** The login page; works without script. */
export function renderLogin(view: LoginView): Html {
  const { platformName, error } = view;
  const username = view.username ?? "";
  const notice = NOTICES.get(view.notice ?? "");
  const invalid = error && html`aria-invalid="true" aria-describedby="error"`;
  const focusName = username === "" && html`autofocus`;
  const focusPassword = username !== "" && html`autofocus`;
  const body = html`
    <header class="welcome">
      <p class="brand">${MARK}<span>${platformName}</span></p>
      <div class="welcome-text">
        <p class="welcome-line">One sign-in,<br>one token,<br>every data set.</p>
        <p>Sign in to see the data sets and to copy an access token for your notebook.</p>
      </div>
    </header>
    <main class="sign-in">
      <div class="sign-in-box">
        <h1>Sign in</h1>
        <p class="lead">with your ${platformName} account</p>
        ${error &&
          html`<div class="note note-error" id="error" role="alert">${ICONS.alert}<p>${error}</p></div>`}
        ${!error && notice &&
          html`<div class="note" role="status">${ICONS.check}<p>${notice}</p></div>`}
        <form method="post" action="/login" class="form">
          <div class="field">
            <label for="username">User name</label>
            <input id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none"
              spellcheck="false" maxlength="128" required ${invalid} ${focusName}>
          </div>
          <div class="field">
            <label for="password">Password</label>
            <div class="with-button">
              <input id="password" name="password" type="password" autocomplete="current-password" maxlength="256"
                required ${invalid} ${focusPassword}>
              <button type="button" class="reveal needs-script" id="reveal">
                <span>Show</span><span class="visually-hidden"> password</span>
              </button>
            </div>
          </div>
          <button class="primary">Sign in</button>
        </form>
        <p class="hint">User name and password are in <code>sandbox.settings</code>; <code>deno task sandbox</code> prints them.</p>
      </div>
      ${FOOTER}
    </main>
  `;
  return layout(
    error ? view.errorTitle ?? "Sign-in failed" : "Sign in",
    platformName,
    "page-login",
    body,
  );
}
