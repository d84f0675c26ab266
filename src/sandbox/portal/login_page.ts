import { html } from "npm:hono@4.13.19/html";
import { PLATFORM_NAME } from "../options.ts";
import { BRAND, type Html, ICONS, layout } from "./layout.ts";

/** The content of the login page. */
export interface LoginView {
  /** The name that the user typed in the last, failed attempt. */
  username?: string;
  /** Why the last attempt failed. */
  error?: string;
  /** Why the login page is shown: `signed-out` or `ended`. */
  notice?: string | undefined;
}

const NOTICES = new Map([
  ["signed-out", "You are signed out."],
  ["ended", "Your session has ended. Sign in again."],
]);

/** The login page; works without JavaScript. */
export function loginPage({ username = "", error, notice }: LoginView): Html {
  const noticeText = NOTICES.get(notice ?? "");
  const invalid = error && html`aria-invalid="true" aria-describedby="error"`;
  const header = html`
    <header class="welcome">
      <div class="brand">${BRAND}</div>
      <div class="welcome-text">
        <p class="welcome-line">One sign-in,<br>one token,<br>every data set.</p>
        <p>Sign in to see the data sets and to copy an access token for your notebook.</p>
      </div>
    </header>
  `;
  const main = html`
    <main class="sign-in">
      <h1>Sign in</h1>
      <p class="lead">with your ${PLATFORM_NAME} account</p>
      ${error &&
        html`<div class="note note-error" id="error" role="alert">${ICONS.alert}<p>${error}</p></div>`}
      ${noticeText &&
        html`<div class="note" role="status">${ICONS.check}<p>${noticeText}</p></div>`}
      <form method="post" action="/login" class="form">
        <div class="field">
          <label for="username">User name</label>
          <input id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none"
            spellcheck="false" maxlength="128" required ${invalid} ${username === "" &&
              html`autofocus`}>
        </div>
        <div class="field">
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="current-password" maxlength="256"
            required ${invalid} ${username !== "" && html`autofocus`}>
        </div>
        <button class="primary">Sign in</button>
      </form>
      <p class="hint">User name and password are in <code>sandbox.settings</code>; <code>deno task sandbox</code> prints them.</p>
    </main>
  `;
  return layout({ title: error ? "Sign-in failed" : "Sign in", header, main, kind: "page-login" });
}
